/// Values by host name, address or domain, and the closest one for a host. (pure)
struct HostPatterns<Value> {
    /// Why a table cannot be made.
    enum Failure: Error, Hashable {
        case noPattern(String)
        case twice(String)
    }

    private enum Pattern: Hashable {
        case name(String)
        case address(IPLiteral)
        /// Every name that ends in this, which begins with a dot.
        case domain(String)
    }

    private var names: [String: Value] = [:]
    private var addresses: [IPLiteral: Value] = [:]
    private var domains: [String: Value] = [:]

    init() {}

    init(_ entries: [String: Value]) throws(Failure) {
        // In one order, so that of several mistakes the same one is told each time.
        for (text, value) in entries.sorted(by: { $0.key < $1.key }) {
            guard let pattern = Self.pattern(text) else { throw .noPattern(text) }
            let isNew =
                switch pattern {
                case .name(let name): names.updateValue(value, forKey: name) == nil
                case .address(let address): addresses.updateValue(value, forKey: address) == nil
                case .domain(let domain): domains.updateValue(value, forKey: domain) == nil
                }
            guard isNew else { throw .twice(text) }
        }
    }

    /// Finds the value for a host as in a URL; brackets, case and a dot at the end make no difference.
    func closest(to host: String) -> Value? {
        if let address = IPLiteral(host) { return addresses[address] }
        let name = Self.normalized(host)
        if let value = names[name] { return value }
        var rest = name[...]
        while let dot = rest.firstIndex(of: ".") {
            if let value = domains[String(rest[dot...])] { return value }
            rest = rest[rest.index(after: dot)...]
        }
        return nil
    }

    /// Lower case, without the dot that marks a name as complete.
    static func normalized(_ host: String) -> String {
        let lowercased = host.lowercased()
        return lowercased.hasSuffix(".") ? String(lowercased.dropLast()) : lowercased
    }

    /// The same without brackets, as certificates and people name it.
    static func bare(_ host: String) -> String {
        let name = normalized(host)
        return name.hasPrefix("[") && name.hasSuffix("]") ? String(name.dropFirst().dropLast()) : name
    }

    private static func pattern(_ text: String) -> Pattern? {
        // Before case is taken away, which makes a `k` of the sign for kelvin.
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        // With a zone it would be an address on one link, and here it would count on all.
        if !text.contains("%"), let address = IPLiteral(text) { return .address(address) }
        let name = normalized(text)
        if name.hasPrefix("*.") { return isName(name.dropFirst(2)) ? .domain(String(name.dropFirst())) : nil }
        return isName(name[...]) ? .name(name) : nil
    }

    /// Letters, digits, hyphens and underscores in labels of 1 to 63 (RFC 1123 section 2.1). The last one is no number: that would be an
    /// address written in a way nobody compares (RFC 3986 section 3.2.2).
    private static func isName(_ text: Substring) -> Bool {
        let labels = text.split(separator: ".", omittingEmptySubsequences: false)
        guard text.utf8.count <= 253, let last = labels.last, !last.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return false }
        return labels.allSatisfy { label in
            (1...63).contains(label.utf8.count)
                && label.utf8.allSatisfy { byte in
                    (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x2D || byte == 0x5F
                }
        }
    }
}

extension HostPatterns: Sendable where Value: Sendable {}
