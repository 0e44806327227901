/// An interface a path leads over.
public struct NetworkInterface: Sendable, Hashable, CustomStringConvertible {
    /// What an interface is, as far as the kernel says.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Driver and hardware type of the link decide; `other` is all that fits no kind.
        case wired, wifi, cellular, vpn, loopback, other
    }

    /// The name, such as `eth0`; it may change while the index stays.
    public let name: String
    /// The index of the kernel (if_nametoindex(3)), unique in the network namespace.
    public let index: UInt32
    /// The kind of interface.
    public let kind: Kind

    /// Makes an interface, for tests.
    public init(name: String, index: UInt32, kind: Kind) {
        self.name = name
        self.index = index
        self.kind = kind
    }

    /// The name and the kind, such as `eth0 (wired)`.
    public var description: String { "\(name) (\(kind.rawValue))" }
}
