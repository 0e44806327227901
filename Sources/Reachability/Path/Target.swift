extension NetworkPath {
    /// The destination to which a monitor watches the way.
    public struct Target: Sendable, Hashable {
        /// The destination itself.
        public enum Subject: Sendable, Hashable {
            /// The network at large: the default routes.
            case defaultPath
            /// One address; the route to it decides.
            case address(IPAddress)
            /// A name, resolved again whenever the path or the name servers change.
            case host(String)
        }

        /// The destination itself.
        public var subject: Subject
        /// The port, for rules that depend on it; nil for none.
        public var port: UInt16?
        /// The firewall mark that the sockets in question carry (`SO_MARK`): VPN rules may treat them differently.
        public var mark: UInt32?
        /// The user whose sockets they are, where rules depend on it.
        public var uid: UInt32?

        /// Makes a target.
        public init(_ subject: Subject, port: UInt16? = nil, mark: UInt32? = nil, uid: UInt32? = nil) {
            self.subject = subject
            self.port = port
            self.mark = mark
            self.uid = uid
        }

        /// The network at large: the default routes.
        public static let defaultPath = Target(.defaultPath)
        /// An address.
        public static func address(_ address: IPAddress, port: UInt16? = nil) -> Target { Target(.address(address), port: port) }
        /// An address written as text counts as an address.
        public static func host(_ name: String, port: UInt16? = nil) -> Target {
            Target(IPAddress(name).map(Subject.address) ?? .host(name), port: port)
        }

        /// From `https://example.org/path`, `example.org:443`, `example.org`, `192.0.2.1`, `[2001:db8::1]:443`; nil where there is no host, or
        /// what follows it is no port. In brackets a zone may be written as in URLs (RFC 6874): `[fe80::1%25eth0]`.
        public init?(_ text: String) {
            // Byte by byte: to Swift a delimiter with an accent after it is another character.
            var rest = text[...]
            var scheme = ""
            if let range = rest.utf8Range(of: "://") {
                scheme = rest[..<range.lowerBound].lowercased()
                rest = rest[range.upperBound...]
            }
            if let end = rest.utf8.firstIndex(where: "/?#".utf8.contains) { rest = rest[..<end] }
            if let at = rest.utf8.lastIndex(of: UInt8(ascii: "@")) { rest = rest[rest.utf8.index(after: at)...] }
            guard let (host, port) = Self.split(rest), !host.isEmpty, host.utf8.count <= 253 else { return nil }
            guard host.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f }) else { return nil }
            self = .host(host, port: port ?? Self.ports[scheme])
        }

        private static let ports: [String: UInt16] = ["http": 80, "ws": 80, "https": 443, "wss": 443, "ftp": 21, "ssh": 22]

        private static func split(_ text: Substring) -> (host: String, port: UInt16?)? {
            // An IPv6 address without brackets has colons of its own and no port.
            if !text.utf8.starts(with: "[".utf8), IPAddress(text) != nil { return (String(text), nil) }
            var end = text.utf8.firstIndex(of: UInt8(ascii: ":")) ?? text.endIndex
            if text.utf8.starts(with: "[".utf8) {
                guard let bracket = text.utf8.firstIndex(of: UInt8(ascii: "]")) else { return nil }
                end = text.utf8.index(after: bracket)
            }
            guard let host = host(text[..<end]) else { return nil }
            let rest = text[end...]
            if rest.isEmpty || rest.utf8.elementsEqual(":".utf8) { return (host, nil) }
            guard rest.utf8.starts(with: ":".utf8), let port = UInt16(digits: rest[rest.utf8.index(after: end)...]) else { return nil }
            return (host, port)
        }

        /// Brackets hold an address; names have none.
        private static func host(_ text: Substring) -> String? {
            guard text.utf8.starts(with: "[".utf8) else { return text.utf8.contains(where: "[]".utf8.contains) ? nil : String(text) }
            var address = text
            // Without anything after it, "%25" is the interface of that index.
            if let range = text.utf8Range(of: "%25"), text[range.upperBound...].utf8.count > 1 {
                address = text[..<range.lowerBound] + "%" + text[range.upperBound...]
            }
            return IPAddress(address).map { _ in String(address) }
        }
    }
}

extension Substring {
    fileprivate func utf8Range(of word: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if utf8[start...].starts(with: word.utf8) { return start..<utf8.index(start, offsetBy: word.utf8.count) }
            start = utf8.index(after: start)
        }
        return nil
    }
}
