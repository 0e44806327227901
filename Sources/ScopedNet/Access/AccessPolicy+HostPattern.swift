extension AccessPolicy {
    /// Hosts by name: `example.com` is that host, `*.example.com` every one below it, `*` any (pure).
    ///
    /// Case and a dot at the end do not matter. An address is compared as libcurl writes it: `127.0.0.1` also where the URL says `0x7f.1`, IPv6 in
    /// brackets or without. Names with letters beyond ASCII are written as `xn--…`.
    public struct HostPattern: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
        /// The pattern as it was written.
        public let description: String
        private let name: String
        private let isSuffix: Bool

        /// Makes a pattern of a host name, an IP address, `*.` before a name, or `*`. Any text is accepted; one that is no host matches
        /// nothing.
        public init(_ text: String) {
            description = text
            // Bytes: a dot with an accent behind it is another `Character`.
            isSuffix = text.utf8.starts(with: "*.".utf8)
            name = Self.plain(isSuffix ? String(text.utf8.dropFirst(2)) ?? "" : text)
        }

        /// Makes a pattern of a literal, as ``init(_:)`` does.
        public init(stringLiteral text: String) { self.init(text) }

        /// Returns true for a host, as it stands in a URL, that the pattern covers.
        public func matches(_ host: String) -> Bool {
            let host = Self.plain(host)
            if !isSuffix { return name == "*" || host == name }
            let end = ".\(name)".utf8
            return !name.isEmpty && host.utf8.count > end.count && host.utf8.suffix(end.count).elementsEqual(end)
        }

        private static func plain(_ host: String) -> String {
            if host.utf8.first == UInt8(ascii: "[") || host.utf8.contains(UInt8(ascii: ":")) {
                return IPLiteral(host)?.description ?? host.lowercased()
            }
            let name = host.lowercased()
            return name.utf8.last == UInt8(ascii: ".") ? String(name.utf8.dropLast()) ?? name : name
        }
    }
}
