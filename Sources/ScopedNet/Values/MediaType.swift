/// A media type and its parameters, as `Content-Type` writes them (RFC 9110 section 8.3.1). (pure)
///
/// ```swift
/// let type = MediaType("application/problem+json; charset=utf-8")
/// type?.essence        // "application/problem+json"
/// type?.suffix         // "json"
/// type?["charset"]     // "utf-8"
/// ```
public struct MediaType: Sendable, Hashable {
    /// What stands before the slash, in lower case.
    public let type: String
    /// What stands behind it, in lower case.
    public let subtype: String
    /// By their names in lower case, values as written and without quotes. Of equal names the first counts; one that is malformed is left out.
    public let parameters: [String: String]

    /// Type and subtype: `text/html`.
    public var essence: String { "\(type)/\(subtype)" }

    /// The structured syntax behind the last plus (RFC 6839): `json` of `application/problem+json`.
    public var suffix: String? {
        guard let plus = subtype.lastIndex(of: "+") else { return nil }
        let suffix = subtype[subtype.index(after: plus)...]
        return suffix.isEmpty ? nil : String(suffix)
    }

    /// A parameter by name, in any case.
    public subscript(name: String) -> String? { parameters[name.lowercased()] }

    /// - Parameter text: the value of a `Content-Type` field. Of several, as of two fields joined, the last that is one counts (RFC 9110 section
    ///   8.3). Nil when none begins with a type and a subtype.
    public init?(_ text: String) {
        guard let found = FieldText.members(text).reversed().lazy.compactMap({ MediaType(element: $0) }).first else { return nil }
        self = found
    }

    private init?(element: Substring) {
        let bytes = element.utf8
        let end = bytes.firstIndex(of: UInt8(ascii: ";")) ?? bytes.endIndex
        guard let (type, subtype) = Self.halves(FieldText.trimmed(element[..<end]), at: "/") else { return nil }
        guard FieldText.isToken(type), FieldText.isToken(subtype) else { return nil }
        self.type = type.lowercased()
        self.subtype = subtype.lowercased()
        parameters = Self.parameters(element[end...])
    }

    private static func parameters(_ text: Substring) -> [String: String] {
        var found: [String: String] = [:]
        for member in FieldText.members(text, by: ";") {
            guard let (name, text) = halves(member, at: "="), FieldText.isToken(name) else { continue }
            guard let value = FieldText.isToken(text) ? String(text) : FieldText.unquoted(text) else { continue }
            if found[name.lowercased()] == nil { found[name.lowercased()] = value }
        }
        return found
    }

    /// By byte: with a combining mark behind it, a separator is another `Character`.
    private static func halves(_ text: Substring, at separator: Unicode.Scalar) -> (Substring, Substring)? {
        guard let place = text.utf8.firstIndex(of: UInt8(ascii: separator)) else { return nil }
        return (text[..<place], text[text.utf8.index(after: place)...])
    }
}

extension MediaType: CustomStringConvertible {
    /// As a field value, parameters in the order of their names, quoted where they are no tokens.
    public var description: String {
        parameters.sorted { $0.key < $1.key }.reduce(into: essence) { text, parameter in
            let value = FieldText.isToken(parameter.value[...]) ? parameter.value : FieldText.quoted(parameter.value)
            text += "; \(parameter.key)=\(value)"
        }
    }
}
