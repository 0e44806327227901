/// The hosts that are known to want https, and the rules by which they are found (RFC 6797 section 8). (pure)
struct HSTSTable: Sendable {
    struct Entry: Sendable, Equatable {
        var includesSubdomains: Bool
        /// Seconds since 1970.
        var expires: Double
    }

    enum Decision: Equatable { case noted(String), removed(String), ignored }

    private var entries: [String: Entry] = [:]
    /// Name, and whether it is for the names below it.
    private var preloaded: [String: Bool] = [:]
    private let most: Int

    /// - Parameter most: the most entries from responses. One more ends the one that ends next.
    init(most: Int = 10_000) { self.most = most }

    subscript(name: String) -> Entry? { entries[name] }
    var names: [String] { Array(entries.keys) }
    var preloadedHosts: [String: Bool] { preloaded }

    /// A host as names are compared: lower case and without the dot at its end; nil for an address, which has no such policy (section 8.1.1), and
    /// for no name at all.
    static func name(of host: String) -> String? {
        var name = host.lowercased()
        if name.utf8.last == UInt8(ascii: ".") { name.removeLast() }
        guard !name.isEmpty, name.utf8.count <= 253, IPLiteral(name) == nil, !name.utf8.contains(UInt8(ascii: ":")) else { return nil }
        return name
    }

    /// True for a name that the host of a URL can have. Any other, such as `*.example.com`, would be in the store and protect nobody.
    static func isHostName(_ name: String) -> Bool {
        name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { label in
            guard let first = label.first, first != UInt8(ascii: "-") else { return false }
            return label.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
        }
    }

    /// A host has said so over TLS without an error.
    ///
    /// - Returns: the name whose entry has changed.
    mutating func receive(_ value: String, from host: String, now: Double) -> Decision {
        guard let name = Self.name(of: host), let policy = HSTSPolicy(value) else { return .ignored }
        guard policy.maxAge > 0 else {
            return entries.removeValue(forKey: name) == nil ? .ignored : .removed(name)
        }
        let entry = Entry(includesSubdomains: policy.includesSubdomains, expires: now + Double(policy.maxAge))
        // Each response of a host has the field: an end that moves by less than a thousandth of the time is not worth a write to disk.
        if let known = entries[name], known.includesSubdomains == entry.includesSubdomains, known.expires > now,
            (0...Double(policy.maxAge) / 1000).contains(entry.expires - known.expires)
        {
            return .ignored
        }
        entries[name] = entry
        return .noted(name)
    }

    /// - Returns: the names that were dropped.
    mutating func dropExcess(now: Double) -> [String] {
        guard entries.count > most else { return [] }
        var gone = entries.filter { $0.value.expires <= now }.map(\.key)
        if entries.count - gone.count > most {
            let kept = entries.filter { $0.value.expires > now }.sorted { $0.value.expires < $1.value.expires }
            gone += kept.prefix(entries.count - gone.count - most).map(\.key)
        }
        for name in gone { entries[name] = nil }
        return gone
    }

    mutating func restore(_ name: String, _ entry: Entry) { entries[name] = entry }

    mutating func preload(_ name: String, includesSubdomains: Bool) { preloaded[name] = includesSubdomains || preloaded[name] ?? false }

    mutating func removeAll() { entries = [:] }

    mutating func remove(_ name: String) -> Bool { entries.removeValue(forKey: name) != nil }

    /// The host itself, or one above it that includes its subdomains (section 8.2).
    func isSecure(_ host: String, now: Double) -> Bool {
        guard !entries.isEmpty || !preloaded.isEmpty, let name = Self.name(of: host) else { return false }
        if isKnown(name, now) != nil { return true }
        var rest = name.utf8[...]
        while let dot = rest.firstIndex(of: UInt8(ascii: ".")) {
            rest = rest[rest.index(after: dot)...]
            if isKnown(String(Substring(rest)), now) == true { return true }
        }
        return false
    }

    /// - Returns: whether it includes subdomains; nil where the name itself is not known.
    private func isKnown(_ name: String, _ now: Double) -> Bool? {
        let entry = entries[name].flatMap { $0.expires > now ? $0.includesSubdomains : nil }
        guard let listed = preloaded[name] else { return entry }
        return listed || entry ?? false
    }

    /// The same URL over https (section 8.3): port 80 becomes 443, any other stays.
    static func upgraded(_ url: String, port: Int) -> String {
        let authority = url.utf8.dropFirst("http://".utf8.count).prefix {
            $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#")
        }
        let rest = Substring(url.utf8[authority.endIndex...])
        var host = Substring(authority)
        // A URL of port 80 that names it, and not the last group of an IPv6 address or a password.
        if port == 80, let colon = host.utf8.lastIndex(of: UInt8(ascii: ":")) {
            let digits = host.utf8[host.utf8.index(after: colon)...]
            if digits.allSatisfy({ (0x30...0x39).contains($0) }) { host = host[..<colon] }
        }
        return "https://\(host)\(rest)"
    }
}
