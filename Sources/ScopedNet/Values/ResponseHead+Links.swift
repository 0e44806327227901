extension ResponseHead {
    /// A typed link of a `Link` field (RFC 8288 section 3).
    public struct Link: Sendable, Hashable {
        /// The target as it was written, absolute or relative to the URL of the response.
        public let target: String
        /// The relation types, in lower case: `["next"]`.
        public let relations: [String]
        /// The other parameters by their names in lower case, without quotes. Of equal names the first counts.
        public let parameters: [String: String]
    }

    /// The links of all `Link` fields in their order; what is malformed is passed over.
    public var links: [Link] { self["link"].map { LinkField($0).links } ?? [] }

    /// The target of the first link of this relation type, such as `next`, as it was written. Links from elsewhere (`anchor`) are passed over.
    public func link(_ relation: String) -> String? {
        let relation = relation.lowercased()
        return links.first { $0.relations.contains(relation) && $0.parameters["anchor"] == nil }?.target
    }
}

/// The value of a `Link` field, read as RFC 8288 appendix B.2 says. (pure)
struct LinkField {
    let links: [ResponseHead.Link]

    init(_ text: String) {
        var links: [ResponseHead.Link] = []
        var rest = text.utf8[...]
        while let start = rest.firstIndex(of: UInt8(ascii: "<")) {
            guard let end = rest[start...].firstIndex(of: UInt8(ascii: ">")) else { break }
            let target = Substring(rest[rest.index(after: start)..<end])
            rest = rest[rest.index(after: end)...]
            // A comma in quotes belongs to a value.
            let close = Self.end(of: rest)
            links.append(Self.link(target, Substring(rest[..<close])))
            rest = rest[close...]
        }
        self.links = links
    }

    /// The place of the comma that ends the parameters.
    private static func end(of rest: Substring.UTF8View) -> Substring.UTF8View.Index {
        var isQuoted = false
        var index = rest.startIndex
        while index < rest.endIndex {
            switch rest[index] {
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: "\\") where isQuoted:
                index = rest.index(after: index)
                if index == rest.endIndex { return index }
            case UInt8(ascii: ",") where !isQuoted: return index
            default: break
            }
            index = rest.index(after: index)
        }
        return index
    }

    private static func link(_ target: Substring, _ text: Substring) -> ResponseHead.Link {
        var parameters: [String: String] = [:]
        for member in FieldText.members(String(text), by: ";") {
            let place = member.utf8.firstIndex(of: UInt8(ascii: "=")) ?? member.endIndex
            let name = FieldText.trimmed(member[..<place])
            guard FieldText.isToken(name) else { continue }
            let written = place == member.endIndex ? "" : FieldText.trimmed(member[member.utf8.index(after: place)...])
            let value = FieldText.unquoted(written) ?? String(written)
            if parameters[name.lowercased()] == nil { parameters[name.lowercased()] = value }
        }
        let relations = parameters.removeValue(forKey: "rel").map { $0.lowercased().split(separator: " ").map(String.init) } ?? []
        return ResponseHead.Link(target: String(FieldText.trimmed(target)), relations: relations, parameters: parameters)
    }
}
