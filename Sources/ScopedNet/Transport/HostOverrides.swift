/// The overrides of names and addresses in connection settings: what libcurl is told, and where a URL leads by them. (pure)
struct HostOverrides: Sendable {
    private let resolves: [ConnectionSettings.ResolveOverride]
    private let connectsTo: [ConnectionSettings.ConnectOverride]

    init(_ settings: ConnectionSettings) {
        resolves = settings.resolves
        connectsTo = settings.connectsTo
    }

    var isEmpty: Bool { resolves.isEmpty && connectsTo.isEmpty }

    // MARK: What libcurl is told

    /// The lines for CURLOPT_RESOLVE(3).
    ///
    /// - Throws: ``NetworkError`` with the code `invalidOption` for an override that names no host, port or address.
    func resolveLines() throws(NetworkError) -> [String] { try resolves.map { item throws(NetworkError) in try Self.line(of: item) } }

    /// The lines for CURLOPT_CONNECT_TO(3).
    func connectLines() throws(NetworkError) -> [String] { try connectsTo.map { item throws(NetworkError) in try Self.line(of: item) } }

    static func line(of item: ConnectionSettings.ResolveOverride) throws(NetworkError) -> String {
        let shown = "\(item.host):\(item.port)"
        guard item.host == "*" || isName(item.host) else {
            let hint =
                IPLiteral(item.host) == nil ? "the host is neither a name in ASCII nor *" : "an address needs no lookup; use connectsTo"
            throw .invalidOverride(shown, hint)
        }
        guard isPort(item.port) else { throw .invalidOverride(shown, "the port is not 1 to 65535") }
        guard !item.addresses.isEmpty else { throw .invalidOverride(shown, "it has no address") }
        var addresses: [String] = []
        for text in item.addresses {
            guard let literal = address(text) else { throw .invalidOverride(shown, "'\(text.prefix(60))' is no IP address") }
            addresses.append(bracketed(literal))
        }
        return "\(item.host):\(item.port):\(addresses.joined(separator: ","))"
    }

    static func line(of item: ConnectionSettings.ConnectOverride) throws(NetworkError) -> String {
        var hosts: [String] = []
        for host in [item.host, item.newHost] {
            guard let host else {
                hosts.append("")
                continue
            }
            if let literal = address(host) {
                hosts.append(bracketed(literal))
            } else if isName(host) {
                hosts.append(host)
            } else {
                throw .invalidOverride(host, "it is neither a name in ASCII nor an address")
            }
        }
        for case let port? in [item.port, item.newPort] where !isPort(port) { throw .invalidOverride("\(port)", "it is no port") }
        return "\(hosts[0]):\(item.port.map(String.init) ?? ""):\(hosts[1]):\(item.newPort.map(String.init) ?? "")"
    }

    // MARK: Where a URL leads

    /// The host and port that a connection for a URL is made to, names not resolved; nil where they are the URL's own. The first that
    /// matches counts, as in libcurl (conn_connect_to in url.c).
    func destination(host: String, port: Int) -> (host: String, port: Int)? {
        guard !connectsTo.isEmpty, let item = connectsTo.first(where: { Self.matches($0, host, port) }) else { return nil }
        guard item.newHost != nil || item.newPort != nil else { return nil }
        return (item.newHost ?? host, item.newPort ?? port)
    }

    /// The addresses of a host; nil where its name is looked up. Of equal ones the last counts, and `*` where there is no other.
    func addresses(host: String, port: Int) -> [String]? {
        guard !resolves.isEmpty else { return nil }
        let name = host.lowercased()
        let items = resolves.filter { $0.port == port }
        return (items.last { $0.host.lowercased() == name } ?? items.last { $0.host == "*" })?.addresses
    }

    private static func matches(_ item: ConnectionSettings.ConnectOverride, _ host: String, _ port: Int) -> Bool {
        if let wanted = item.port, wanted != port { return false }
        guard let wanted = item.host else { return true }
        if let literal = address(wanted) { return literal == IPLiteral(host) }
        return wanted.lowercased() == host.lowercased()
    }

    // MARK: Text

    /// A name that neither libcurl nor a resolver reads as something else.
    private static func isName(_ text: String) -> Bool {
        // A minus before the name takes an override away (CURLOPT_RESOLVE(3)).
        guard (1...253).contains(text.utf8.count), IPLiteral(text) == nil, text.utf8.first != UInt8(ascii: "-") else { return false }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }

    private static func address(_ text: String) -> IPLiteral? { text.utf8.contains(UInt8(ascii: "%")) ? nil : IPLiteral(text) }

    private static func bracketed(_ literal: IPLiteral) -> String { literal.bytes.count == 16 ? "[\(literal)]" : "\(literal)" }

    private static func isPort(_ number: Int) -> Bool { (1...65_535).contains(number) }

    /// One to five digits.
    static func number(_ text: Substring) -> Int? {
        guard (1...5).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(text)
    }

    /// The parts between colons that are not within brackets; nil where a bracket is left open.
    static func fields(of text: String) -> [Substring]? {
        var fields: [Substring] = []
        var start = text.utf8.startIndex
        var isInside = false
        for index in text.utf8.indices {
            switch text.utf8[index] {
            case UInt8(ascii: "["): isInside = true
            case UInt8(ascii: "]"): isInside = false
            case UInt8(ascii: ":") where !isInside:
                fields.append(text[start..<index])
                start = text.utf8.index(after: index)
            default: break
            }
        }
        return isInside ? nil : fields + [text[start...]]
    }
}

extension NetworkError {
    static func invalidOverride(_ text: String, _ why: String) -> NetworkError {
        NetworkError(.invalidOption, phase: .preparing, message: "'\(text.prefix(120))' overrides no host: \(why)")
    }
}
