/// Who knows whether traffic costs money. Asked on the monitor's thread, or in `start()`, never under a lock; answer quickly.
public protocol MeteredHint: Sendable {
    func metered(over interfaces: [NetworkInterface]) -> NetworkPath.Metered
    func isConstrained(over interfaces: [NetworkInterface]) -> Bool
}

extension MeteredHint {
    public func isConstrained(over interfaces: [NetworkInterface]) -> Bool { false }
}

/// Guesses by the kind of the preferred interface: cellular costs, wires do not.
public struct InterfaceKindHint: MeteredHint {
    public init() {}

    public func metered(over interfaces: [NetworkInterface]) -> NetworkPath.Metered {
        switch interfaces.first?.kind {
        case .cellular: .guessYes
        case .wired, .wifi, .loopback: .guessNo
        case .vpn, .other, nil: .unknown
        }
    }
}
