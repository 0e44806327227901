/// What a monitor watches the way to.
public struct Target: Sendable, Hashable {
    public enum Subject: Sendable, Hashable {
        /// The network at large: the default routes.
        case defaultPath
        case address(IPAddress)
        /// A name, resolved again whenever the path or the name servers change.
        case host(String)
    }

    public var subject: Subject
    public var port: UInt16?
    /// The firewall mark that the sockets in question carry (`SO_MARK`): VPN rules may treat them differently.
    public var mark: UInt32?
    /// The user whose sockets they are, where rules depend on it.
    public var uid: UInt32?

    public init(_ subject: Subject, port: UInt16? = nil, mark: UInt32? = nil, uid: UInt32? = nil) {
        self.subject = subject
        self.port = port
        self.mark = mark
        self.uid = uid
    }

    public static let defaultPath = Target(.defaultPath)
    public static func address(_ address: IPAddress, port: UInt16? = nil) -> Target { Target(.address(address), port: port) }
    /// An address written as text counts as an address.
    public static func host(_ name: String, port: UInt16? = nil) -> Target {
        Target(IPAddress(name).map(Subject.address) ?? .host(name), port: port)
    }

    /// From `https://example.org/path`, `example.org:443`, `example.org`, `192.0.2.1`, `[2001:db8::1]:443`; nil where there is no host.
    public init?(_ text: String) {
        var rest = text[...]
        var scheme = ""
        if let mark = rest.firstRange(of: "://") {
            scheme = rest[..<mark.lowerBound].lowercased()
            rest = rest[mark.upperBound...]
        }
        rest = rest.prefix { !"/?#".contains($0) }
        if let at = rest.lastIndex(of: "@") { rest = rest[rest.index(after: at)...] }
        guard let (host, port) = Self.split(rest), !host.isEmpty, host.utf8.count <= 253 else { return nil }
        guard host.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f }) else { return nil }
        self = .host(host, port: port ?? Self.ports[scheme])
    }

    private static let ports: [String: UInt16] = ["http": 80, "ws": 80, "https": 443, "wss": 443, "ftp": 21, "ssh": 22]

    private static func split(_ text: Substring) -> (host: String, port: UInt16?)? {
        // An IPv6 address without brackets has colons of its own and no port.
        if IPAddress(text) != nil { return (String(text), nil) }
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            let host = text[...end]
            let rest = text[text.index(after: end)...]
            guard IPAddress(host) != nil else { return nil }
            if rest.isEmpty { return (String(host), nil) }
            guard rest.hasPrefix(":"), let port = UInt16(rest.dropFirst()) else { return nil }
            return (String(host), port)
        }
        guard let colon = text.firstIndex(of: ":") else { return (String(text), nil) }
        let rest = text[text.index(after: colon)...]
        if rest.isEmpty { return (String(text[..<colon]), nil) }
        guard let port = UInt16(rest) else { return nil }
        return (String(text[..<colon]), port)
    }
}

extension Substring {
    fileprivate func firstRange(of word: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(word) { return start..<index(start, offsetBy: word.count) }
            start = index(after: start)
        }
        return nil
    }
}
