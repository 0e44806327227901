/// An interface a path leads over.
public struct NetworkInterface: Sendable, Hashable, CustomStringConvertible {
    /// What an interface is, as far as the kernel says.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case wired, wifi, cellular, vpn, loopback, other
    }

    public let name: String
    public let index: UInt32
    public let kind: Kind

    public init(name: String, index: UInt32, kind: Kind) {
        self.name = name
        self.index = index
        self.kind = kind
    }

    public var description: String { "\(name) (\(kind.rawValue))" }
}
