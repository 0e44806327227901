public import HTTPTypes
import Persistence

/// The header fields of a request or of all requests of a session, by name: `["X-Key": key, .accept: "text/plain", "If-None-Match": tag]`.
///
/// Names are text or one of the standard ones; a nil leaves its field out. Fields keep their order, and a name may come more than once.
/// Nothing is repaired: what is no name (RFC 9110 section 5.1), or a value with a line end, a NUL or another control character (section
/// 5.5), fails the start of the request with `invalidHeader`, and nothing is sent.
public struct HeaderFields: Sendable, ExpressibleByDictionaryLiteral {
    /// The fields as swift-http-types has them, without any that was refused.
    public var fields: HTTPFields
    /// The mistakes, in their order. Setting the name anew takes its own away.
    private var refusals: [(name: Name, error: NetworkError)] = []
    /// The first mistake.
    var refusal: NetworkError? { refusals.first?.error }
    /// The first mistake that these fields do not replace.
    func refusal(besides own: HTTPFields) -> NetworkError? {
        refusals.first { refused in refused.name.parsed.map { !own.contains($0) } ?? true }?.error
    }
    /// The mistakes alone, without any field.
    var mistakes: HeaderFields {
        var mistakes = self
        mistakes.fields = HTTPFields()
        return mistakes
    }

    /// Makes none.
    public init() { fields = HTTPFields() }

    /// Takes fields as swift-http-types has them.
    public init(_ fields: HTTPFields) { self.fields = fields }

    /// Takes fields whose names are variables.
    public init(_ pairs: some Sequence<(key: String, value: String)>) {
        self.init()
        for (name, value) in pairs { append(Name(name), value) }
    }

    /// Makes fields of a literal; those with nil are left out.
    public init(dictionaryLiteral elements: (Name, String?)...) {
        self.init()
        for (name, value) in elements {
            if let value { append(name, value) }
        }
    }

    /// Adds a field behind the others.
    public mutating func append(_ name: Name, _ value: String) {
        do throws(NetworkError) { fields.append(try HeaderField.checked(name.parsed, name.text, value)) } catch {
            refusals.append((name, error))
        }
    }

    /// Sets the fields of others, with all that was refused of them; each replaces those of its name.
    public mutating func merge(_ others: HeaderFields) {
        if others.isEmpty { return }
        if isEmpty {
            self = others
            return
        }
        for name in Set(others.fields.map(\.name)) { fields[values: name] = others.fields[values: name] }
        let replaced = others.fields.map { Name($0.name) } + others.refusals.map(\.name)
        refusals.removeAll { refused in replaced.contains { refused.name.isSame(as: $0) } }
        refusals += others.refusals
    }

    /// True for no field, and none that was refused.
    public var isEmpty: Bool { fields.isEmpty && refusal == nil }

    /// The value of a field, such as `fields["X-Key"]` or `fields[.accept]`; nil without it. Several fields of the name are one text, with commas
    /// in between. Setting one replaces all fields of the name, and what was refused of it; setting nil removes them.
    public subscript(name: Name) -> String? {
        get { name.parsed.flatMap { fields[$0] } }
        set {
            refusals.removeAll { $0.name.isSame(as: name) }
            guard let newValue else {
                if let parsed = name.parsed { fields[parsed] = nil }
                return
            }
            do throws(NetworkError) {
                let field = try HeaderField.checked(name.parsed, name.text, newValue)
                fields[field.name] = field.value
            } catch {
                refusals.append((name, error))
            }
        }
    }
}

extension HeaderFields {
    /// The name of a field in a literal: text, or one of the standard names.
    public struct Name: Sendable, Hashable, ExpressibleByStringLiteral {
        let text: String
        /// Nil for a text that is no name.
        let parsed: HTTPField.Name?

        /// Names of fields are the same in any case; what is no name, by its bytes.
        func isSame(as other: Name) -> Bool {
            if let parsed { return parsed == other.parsed }
            return other.parsed == nil && text.hasSameBytes(as: other.text)
        }

        /// Takes a name as text. It is checked where it is used.
        public init(_ text: String) {
            self.text = text
            parsed = HTTPField.Name(text)
        }

        /// Takes a name as swift-http-types has it.
        public init(_ name: HTTPField.Name) {
            text = name.rawName
            parsed = name
        }

        /// Takes a literal as a name. It is checked where it is used.
        public init(stringLiteral text: String) { self.init(text) }
    }
}
