/// The hosts that are reached without a proxy: the value of `no_proxy`.
///
/// Elements are separated by commas or white space:
///
/// - `*`: all hosts;
/// - `example.com`, `.example.com` or `*.example.com`: that host and all hosts below it;
/// - `192.0.2.1` or `2001:db8::1`: that address, however it is written. Names are not resolved to compare them;
/// - `192.0.2.0/24` or `2001:db8::/32`: the addresses of that block;
/// - any of the first three with `:port` (an IPv6 address then in brackets): that port only.
struct NoProxyList: Hashable, Sendable {
    private enum Pattern: Hashable, Sendable {
        case everything
        case domain(String)
        case address(IPLiteral)
        case block(IPLiteral, prefix: Int)
    }

    private struct Element: Hashable, Sendable {
        let pattern: Pattern
        let port: Int?
    }

    private let elements: [Element]

    init(_ text: String) {
        let parts = text.split { $0 == "," || $0.isWhitespace }
        elements = parts.compactMap { Self.element(String($0)) }
    }

    /// Whether a host is reached directly. An IPv6 host may have brackets.
    func contains(host: String, port: Int) -> Bool {
        let name = Self.normalized(host)
        let address = IPLiteral(host)
        return elements.contains { element in
            if let wanted = element.port, wanted != port { return false }
            switch element.pattern {
            case .everything: return true
            case .domain(let domain): return address == nil && (name == domain || name.hasSuffix("." + domain))
            case .address(let other): return address == other
            case .block(let network, let prefix): return address?.hasPrefix(prefix, of: network) ?? false
            }
        }
    }

    private static func element(_ text: String) -> Element? {
        if text == "*" { return Element(pattern: .everything, port: nil) }
        if let address = IPLiteral(text) { return Element(pattern: .address(address), port: nil) }
        if let block = block(text) { return Element(pattern: block, port: nil) }
        var host = text[...]
        var port: Int?
        if let colon = text.lastIndex(of: ":") {
            guard let number = Int(text[text.index(after: colon)...]), (0...65_535).contains(number) else { return nil }
            host = text[..<colon]
            port = number
        }
        if host == "*" { return Element(pattern: .everything, port: port) }
        if let address = IPLiteral(host) { return Element(pattern: .address(address), port: port) }
        if host.hasPrefix("*.") { host = host.dropFirst() }
        while host.hasPrefix(".") { host = host.dropFirst() }
        let domain = normalized(String(host))
        // What still looks like an address or a block is a broken one.
        guard !domain.isEmpty, !domain.contains(":"), !domain.contains("/") else { return nil }
        return Element(pattern: .domain(domain), port: port)
    }

    private static func block(_ text: String) -> Pattern? {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let network = IPLiteral(parts[0]), parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let prefix = Int(parts[1]), prefix <= network.bytes.count * 8
        else { return nil }
        return .block(network, prefix: prefix)
    }

    /// In lower case, without the dot that marks a name as complete.
    private static func normalized(_ host: String) -> String {
        let lowercased = host.lowercased()
        return lowercased.hasSuffix(".") ? String(lowercased.dropLast()) : lowercased
    }
}
