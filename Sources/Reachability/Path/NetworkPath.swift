/// How a destination, or the network at large, can be reached at one moment. A value that does not change.
///
/// Use it to explain a failure and to time a retry, never as a gate before a request: the only proof that a server answers is its answer.
public struct NetworkPath: Sendable, Hashable {
    /// The answer whether the destination can be reached.
    public enum Status: Sendable, Hashable {
        /// A route leads there, and packets can leave by it. That the destination answers is not known.
        case satisfied
        /// Packets cannot leave, for a reason.
        case unsatisfied(Reason)
        /// The link waits for something to bring it up, such as 802.1X.
        case requiresConnection
    }

    /// The reason for which packets cannot leave.
    public enum Reason: String, Sendable, Hashable {
        /// No route leads there.
        case noRoute
        /// A route or rule says `unreachable`, `prohibit` or `blackhole`.
        case unreachable, prohibited, blackhole
        /// A route leads there, and its interface has no carrier: the cable is out, or the peer is down.
        case noCarrier
        /// A route leads there, and its interface is down.
        case interfaceDown
        /// A route leads there, and no address of this host could be the source.
        case noAddress
        /// The only address is still being checked for duplicates, or failed that check.
        case addressNotReady
        /// The configuration excludes this interface, or the system refuses the question.
        case notPermitted
        /// The host's name has not been resolved yet, and could not be.
        case resolving, nameNotResolved
    }

    /// The cost of traffic, and how it is known: `yes` and `no` are facts, `guessYes` and `guessNo` follow from the kind of interface.
    public enum Metered: Sendable, Hashable { case unknown, yes, no, guessYes, guessNo }

    /// What an opt-in probe found out. It never changes `status`.
    public enum Validation: Sendable, Hashable {
        /// `unknown` without a probe or before its verdict; `validated` when the expected answer came.
        case unknown, validated
        /// Another answer came, such as the page of a portal; its URL where it was a redirect.
        case captivePortal(url: String?)
        /// No answer came, or one that says nothing of a portal.
        case failed
    }

    /// The answer of the kernel.
    public internal(set) var status: Status
    /// True when IPv4 packets can leave.
    public internal(set) var supportsIPv4 = false
    /// True when IPv6 packets can leave.
    public internal(set) var supportsIPv6 = false
    /// A name server is configured and a route leads to it.
    public internal(set) var supportsDNS = false
    /// The cost of traffic over the preferred interface, as far as the configuration's hint knows.
    public internal(set) var metered = Metered.unknown
    /// The user asked for little data, as far as the configuration's hint knows.
    public internal(set) var isConstrained = false
    /// The interfaces of the path, preferred first. Where nothing can be reached because the preferred one is dead: that one, then
    /// others that have a route.
    public internal(set) var interfaces: [NetworkInterface] = []
    /// The next routers; none where the destination is on the link.
    public internal(set) var gateways: [IPAddress] = []
    /// The source addresses that the kernel would use.
    public internal(set) var localAddresses: [IPAddress] = []
    /// The addresses of a host target, resolved last; for an address target that address.
    public internal(set) var remoteAddresses: [IPAddress] = []
    /// The verdict of the configuration's probe.
    public internal(set) var validation = Validation.unknown
    /// Counts the published paths of one monitor.
    public internal(set) var generation: UInt64 = 0

    init(status: Status) { self.status = status }

    /// True for the status ``Status/satisfied``.
    public var isSatisfied: Bool { status == .satisfied }
    /// True when traffic costs money, for certain or by a guess.
    public var isExpensive: Bool { metered == .yes || metered == .guessYes }
    /// True when an interface of the path is of that kind.
    public func usesInterfaceKind(_ kind: NetworkInterface.Kind) -> Bool { interfaces.contains { $0.kind == kind } }

    /// Equal but for the count.
    func hasSameContent(as other: NetworkPath) -> Bool {
        var other = other
        other.generation = generation
        return self == other
    }
}

extension NetworkPath: CustomStringConvertible {
    /// One line, such as `satisfied IPv4 DNS over eth0 (wired) by 192.0.2.1`.
    public var description: String {
        var words: [String]
        switch status {
        case .satisfied: words = ["satisfied"]
        case .unsatisfied(let reason): words = ["unsatisfied (\(reason.rawValue))"]
        case .requiresConnection: words = ["requires connection"]
        }
        if supportsIPv4 { words.append("IPv4") }
        if supportsIPv6 { words.append("IPv6") }
        if supportsDNS { words.append("DNS") }
        if isExpensive { words.append("expensive") }
        if !interfaces.isEmpty { words.append("over " + interfaces.map(\.description).joined(separator: ", ")) }
        if !gateways.isEmpty { words.append("by " + gateways.map(\.description).joined(separator: ", ")) }
        return words.joined(separator: " ")
    }
}
