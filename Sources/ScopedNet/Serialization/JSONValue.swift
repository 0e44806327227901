/// A JSON document as a value (RFC 8259): for requests and responses without a type of their own.
public enum JSONValue: Sendable, Hashable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number without fraction or exponent that fits.
    case integer(Int64)
    /// Any other number. One that is not finite fails when the document is written.
    case double(Double)
    /// Text.
    case string(String)
    /// Values in order.
    case array([JSONValue])
    /// The order of members is not kept; the library writes them in ascending order of their names.
    case object([String: JSONValue])

    /// The member of an object; nil where there is none, or no object.
    public subscript(name: String) -> JSONValue? { if case .object(let members) = self { members[name] } else { nil } }

    /// The element of an array; nil where there is none, or no array.
    public subscript(index: Int) -> JSONValue? {
        if case .array(let elements) = self, elements.indices.contains(index) { elements[index] } else { nil }
    }

    /// The same without nulls: members of objects and elements of arrays that are null go, at every level. Containers that are empty then stay,
    /// and so does a null that is the whole document.
    public func removingNulls() -> JSONValue {
        switch self {
        case .null, .bool, .integer, .double, .string: self
        case .array(let elements): .array(elements.filter { $0 != .null }.map { $0.removingNulls() })
        case .object(let members): .object(members.filter { $0.value != .null }.mapValues { $0.removingNulls() })
        }
    }
}

extension JSONValue {
    /// Creates a text.
    public init(_ text: some StringProtocol) { self = .string(String(text)) }
    /// Creates a whole number; one that `Int64` does not hold is the nearest `Double`.
    public init(_ number: some BinaryInteger) { self = Int64(exactly: number).map { .integer($0) } ?? .double(Double(number)) }
    /// Creates a number with a fraction. One that is not finite fails when the document is written.
    public init(_ number: Double) { self = .double(number) }
    /// Creates a truth value.
    public init(_ isTrue: Bool) { self = .bool(isTrue) }
    /// Creates an array.
    public init(_ elements: [JSONValue]) { self = .array(elements) }
    /// Creates an object.
    public init(_ members: [String: JSONValue]) { self = .object(members) }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringInterpolation, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// Makes ``null`` of `nil`.
    public init(nilLiteral: ()) { self = .null }
    /// Makes a truth value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Makes a whole number.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// Makes a number with a fraction.
    public init(floatLiteral value: Double) { self = .double(value) }
    /// Makes text.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Makes an array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// Of equal names the last one counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements, uniquingKeysWith: { _, last in last }))
    }
}

extension JSONValue: Codable {
    /// A number that `Int64` does not hold is the nearest `Double`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .double(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    /// Writes the document.
    ///
    /// - Throws: `EncodingError` for nesting beyond 512 levels, which no decoder takes and no stack holds.
    public func encode(to encoder: any Encoder) throws {
        if !isFragment, encoder.codingPath.count >= Parameters.Style.maxDepth {
            let reason = "nested more than \(Parameters.Style.maxDepth) levels deep"
            // The error names no value: to print what is left of it would overflow the stack in its turn.
            throw EncodingError.invalidValue("JSONValue", EncodingError.Context(codingPath: [], debugDescription: reason))
        }
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}

extension JSONValue {
    /// - Throws: ``NetworkError`` with code `invalidParameters` for what JSON has no form for: bytes, sets, and numbers that are not finite;
    ///   and for nesting beyond 512 levels.
    public init(_ parameters: Parameters) throws(NetworkError) {
        try parameters.check()
        self = try Self.value(.object(parameters.values), depth: 0)
    }

    private static func value(_ value: ParameterValue, depth: Int) throws(NetworkError) -> JSONValue {
        guard depth <= Parameters.Style.maxDepth else {
            throw .invalidParameters("the parameters are nested more than \(Parameters.Style.maxDepth) levels deep")
        }
        switch value {
        case .null: return .null
        case .bool(let value): return .bool(value)
        case .integer(let value): return .integer(value)
        case .string(let value): return .string(value)
        case .double(let value):
            guard value.isFinite else { throw .invalidParameters("the parameters are not valid JSON: a number is not finite") }
            return .double(value)
        case .data: throw .invalidParameters("the parameters are not valid JSON: they hold bytes; write them as Base64, say")
        case .set: throw .invalidParameters("the parameters are not valid JSON: they hold a set; make it an array")
        case .array(let elements):
            var list: [JSONValue] = []
            for element in elements { list.append(try self.value(element, depth: depth + 1)) }
            return .array(list)
        case .object(let members):
            var object: [String: JSONValue] = [:]
            for (name, member) in members { object[name] = try self.value(member, depth: depth + 1) }
            return .object(object)
        }
    }
}
