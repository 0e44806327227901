extension NetworkPath {
    /// What differs between two paths.
    public struct Delta: OptionSet, Sendable, Hashable {
        /// The differences as bits.
        public let rawValue: UInt16
        /// Makes a set of its bits.
        public init(rawValue: UInt16) { self.rawValue = rawValue }

        /// ``NetworkPath/status``.
        public static let status = Delta(rawValue: 1 << 0)
        /// ``NetworkPath/interfaces``, their order included.
        public static let interfaces = Delta(rawValue: 1 << 1)
        /// ``NetworkPath/gateways``.
        public static let gateways = Delta(rawValue: 1 << 2)
        /// ``NetworkPath/localAddresses``.
        public static let localAddresses = Delta(rawValue: 1 << 3)
        /// ``NetworkPath/remoteAddresses``.
        public static let remoteAddresses = Delta(rawValue: 1 << 4)
        /// `supportsIPv4` or `supportsIPv6`.
        public static let families = Delta(rawValue: 1 << 5)
        /// ``NetworkPath/supportsDNS``.
        public static let dns = Delta(rawValue: 1 << 6)
        /// `metered` or `isConstrained`.
        public static let cost = Delta(rawValue: 1 << 7)
        /// ``NetworkPath/validation``.
        public static let validation = Delta(rawValue: 1 << 8)
        /// There was no path before: this is the first one told.
        public static let first = Delta(rawValue: 1 << 9)

        /// Connections made before are probably dead: their source address, interface or gateway is another one now.
        public var breaksConnections: Bool { !isDisjoint(with: [.interfaces, .gateways, .localAddresses]) }
    }

    /// Compares with an earlier path; ``NetworkPath/generation`` does not count. Without one the answer is ``Delta/first``.
    public func delta(from old: NetworkPath?) -> Delta {
        guard let old else { return .first }
        var delta: Delta = []
        if status != old.status { delta.insert(.status) }
        if interfaces != old.interfaces { delta.insert(.interfaces) }
        if gateways != old.gateways { delta.insert(.gateways) }
        if localAddresses != old.localAddresses { delta.insert(.localAddresses) }
        if remoteAddresses != old.remoteAddresses { delta.insert(.remoteAddresses) }
        if supportsIPv4 != old.supportsIPv4 || supportsIPv6 != old.supportsIPv6 { delta.insert(.families) }
        if supportsDNS != old.supportsDNS { delta.insert(.dns) }
        if metered != old.metered || isConstrained != old.isConstrained { delta.insert(.cost) }
        if validation != old.validation { delta.insert(.validation) }
        return delta
    }
}
