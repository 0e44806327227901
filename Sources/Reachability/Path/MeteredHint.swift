/// A source of knowledge about the cost of traffic. Asked on the monitor's thread, or in `start()`, never under a lock; answer quickly.
public protocol MeteredHint: Sendable {
    /// The cost of traffic over these interfaces, the preferred one first; they may be none.
    func metered(over interfaces: [NetworkInterface]) -> NetworkPath.Metered
    /// True where the user asked for little data. Default: false.
    func isConstrained(over interfaces: [NetworkInterface]) -> Bool
}

extension MeteredHint {
    /// False: nothing is known of such a wish.
    public func isConstrained(over interfaces: [NetworkInterface]) -> Bool { false }
}

/// Guesses by the kind of the preferred interface: cellular costs, wires do not.
public struct InterfaceKindHint: MeteredHint {
    /// Makes the hint; it has no state.
    public init() {}

    /// A guess by the first interface; unknown for a VPN, whose cost is that of the way below it.
    public func metered(over interfaces: [NetworkInterface]) -> NetworkPath.Metered {
        switch interfaces.first?.kind {
        case .cellular: .guessYes
        case .wired, .wifi, .loopback: .guessNo
        case .vpn, .other, nil: .unknown
        }
    }
}
