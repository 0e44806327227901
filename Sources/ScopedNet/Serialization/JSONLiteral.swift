/// A JSON object or array as written in place, of variables and literals of any `Encodable` types.
///
/// ```swift
/// session.post("posts", json: ["title": title, "n": n, "author": ["name": name, "age": age] as JSONLiteral])
/// ```
///
/// Names are written as they stand here, whatever ``JSONCoding/Keys`` say; values as the session's ``JSONCoding`` has them. A nil is `null`.
public struct JSONLiteral: Sendable, Encodable, ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral {
    private enum Content: Sendable {
        case object([String: Member])
        case array([Member])
    }

    /// A value that goes through the encoder's own `encode`, so that dates and bytes get the form that is set there.
    private struct Member: Sendable, Encodable {
        let value: (any Encodable & Sendable)?

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            if let value { try container.encode(value) } else { try container.encodeNil() }
        }
    }

    private let content: Content

    /// Creates an object. Of equal names the last one counts.
    public init(dictionaryLiteral elements: (String, (any Encodable & Sendable)?)...) {
        content = .object(Dictionary(elements.map { ($0, Member(value: $1)) }, uniquingKeysWith: { _, last in last }))
    }

    /// Creates an array.
    public init(arrayLiteral elements: (any Encodable & Sendable)?...) { content = .array(elements.map { Member(value: $0) }) }

    /// Writes the object or array.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch content {
        // As a dictionary: an encoder's strategy for keys leaves those of dictionaries alone.
        case .object(let members): try container.encode(members)
        case .array(let elements): try container.encode(elements)
        }
    }
}
