package import HTTPTypes

/// For which requests a stored response was chosen (RFC 9111 section 4.1): the fields that `Vary` names, and the values they had.
///
/// Values are normalised: lines joined, blanks at commas removed, and for `Accept-Language` and `Accept-Encoding` case and order too. A field
/// that is not there equals only one that is not there either. Of `Cookie` and `Authorization` a keyed hash is kept.
package struct VaryRule: Sendable, Hashable {
    /// In lower case, sorted, each once.
    package let names: [String]
    /// One list of values in the order of ``names`` for each request the response is known to answer, the newest last.
    package private(set) var selections: [[String?]]

    /// The most requests one response is remembered for.
    static let maxSelections = 16

    /// The most names of one rule. A header may have room for a hundred thousand, and each would be kept with each request.
    static let maxNames = 64

    /// Of a response to a request; nil when `Vary` is `*`, names what is no field, or has too many names.
    package init?(_ response: HTTPFields, for request: CacheRequest, hashSecret: SecretHash) {
        self.init(members: response.members(.vary), for: request, hashSecret: hashSecret)
    }

    /// Makes the rule of a response; `members` are those of all lines of `Vary`. Nil for `*`, for what is no name, and for too many names.
    init?(members: [Substring], for request: CacheRequest, hashSecret: SecretHash) {
        guard !members.isEmpty else {
            self.init(names: [], selections: [[]])
            return
        }
        var names: Set<String> = []
        for member in members {
            guard member != "*", FieldText.isToken(member) else { return nil }
            names.insert(member.lowercased())
        }
        guard names.count <= Self.maxNames else { return nil }
        let sorted = names.sorted()
        self.init(names: sorted, selections: [Self.values(sorted, request, hashSecret)])
    }

    /// As read from a store. Lists of another length than `names` are left out.
    package init(names: [String], selections: [[String?]]) {
        self.names = names
        self.selections = selections.filter { $0.count == names.count }
    }

    package func matches(_ request: CacheRequest, hashSecret: SecretHash) -> Bool {
        selections.contains(Self.values(names, request, hashSecret))
    }

    /// The server has said by a 304 that the response answers this request as well.
    mutating func extend(to request: CacheRequest, hashSecret: SecretHash) {
        let values = Self.values(names, request, hashSecret)
        selections.removeAll { $0 == values }
        selections.append(values)
        selections.removeFirst(max(0, selections.count - Self.maxSelections))
    }

    private static let secretNames: Set<String> = ["authorization", "cookie", "proxy-authorization"]

    private static func values(_ names: [String], _ request: CacheRequest, _ hashSecret: SecretHash) -> [String?] {
        names.map { name in
            guard let field = HTTPField.Name(name), let value = normalised(field, request.fields) else { return nil }
            return secretNames.contains(name) ? hashSecret(Array(value.utf8)) : value
        }
    }
}

extension VaryRule {
    private static func normalised(_ name: HTTPField.Name, _ fields: HTTPFields) -> String? {
        let lines = fields.lines(name)
        guard !lines.isEmpty else { return nil }
        // The pairs of one cookie field may come as several lines (RFC 9113 section 8.2.3).
        if name == .cookie { return lines.map { String(FieldText.trimmed($0[...])) }.joined(separator: "; ") }
        let members = lines.flatMap { FieldText.members($0) }
        switch name {
        case .acceptLanguage, .acceptEncoding: return members.map(weighed).sorted().joined(separator: ",")
        default: return members.joined(separator: ",")
        }
    }

    /// `GZIP; q=0.50` as `gzip;q=0.5`: order is no preference where weights are (RFC 9110 section 12.4.2).
    private static func weighed(_ member: Substring) -> String {
        let member = member.lowercased()
        guard member.utf8.contains(UInt8(ascii: ";")) else { return member }
        let parts = member.utf8.split(separator: UInt8(ascii: ";")).map { FieldText.trimmed(Substring($0)) }
        return parts.compactMap { part in
            guard part.utf8.starts(with: "q=".utf8) else { return String(part) }
            var weight = Substring(part.utf8.dropFirst(2))
            if weight.utf8.contains(UInt8(ascii: ".")) {
                while weight.utf8.last == UInt8(ascii: "0") { weight = Substring(weight.utf8.dropLast()) }
                if weight.utf8.last == UInt8(ascii: ".") { weight = Substring(weight.utf8.dropLast()) }
            }
            return weight == "1" ? nil : "q=\(weight)"
        }.joined(separator: ";")
    }
}
