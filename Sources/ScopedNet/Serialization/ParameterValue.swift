public import FoundationEssentials

/// The value of a request's parameter: a literal, an `Encodable`, or made of a variable by an unlabelled initializer.
///
/// ```swift
/// let list: ParameterValue = [1, "two", ParameterValue(three), nil]
/// ```
///
/// What becomes of it depends on where it goes: see ``Parameters/Style`` for queries, forms and multipart, and ``JSONValue`` for JSON.
public enum ParameterValue: Sendable, Hashable {
    /// A name alone in a query or form, an empty part in multipart, `null` in JSON.
    case null
    /// A truth value; see ``Parameters/Style/booleans`` for its form in queries.
    case bool(Bool)
    /// A whole number.
    case integer(Int64)
    /// A number with a fraction. One without is written without a point in queries.
    case double(Double)
    /// Text, percent-encoded in queries and forms.
    case string(String)
    /// Bytes: percent-encoded in a query, as they are in multipart; JSON has no such thing.
    case data(Data)
    /// In order.
    case array([ParameterValue])
    /// The same name several times, in ascending order; JSON has no such thing.
    case set(Set<ParameterValue>)
    /// Members are written in ascending order of their names.
    case object([String: ParameterValue])

    /// A whole number; what `Int64` does not hold is written by its digits.
    public static func integer<Number: BinaryInteger>(exactly number: Number) -> ParameterValue {
        Int64(exactly: number).map { .integer($0) } ?? .string(String(number))
    }
}

extension ParameterValue {
    /// Creates a text.
    public init(_ text: some StringProtocol) { self = .string(String(text)) }
    /// Creates a whole number; one that `Int64` does not hold is written by its digits.
    public init(_ number: some BinaryInteger) { self = .integer(exactly: number) }
    /// Creates a number with a fraction.
    public init(_ number: Double) { self = .double(number) }
    /// Creates a truth value.
    public init(_ isTrue: Bool) { self = .bool(isTrue) }
    /// Creates the text of an enum with raw values, or of another type that wraps a text.
    public init<Value: RawRepresentable>(_ value: Value) where Value.RawValue: StringProtocol { self.init(value.rawValue) }
    /// Creates the number of an enum with raw values, or of another type that wraps a whole number.
    public init<Value: RawRepresentable>(_ value: Value) where Value.RawValue: BinaryInteger { self.init(value.rawValue) }
    /// Creates a date as RFC 3339 has it, the form of ``Parameters/Dates/iso8601``.
    public init(_ date: Date) { self = .string(date.formatted(.iso8601)) }
    /// Creates a UUID in its usual form.
    public init(_ id: UUID) { self = .string(id.uuidString) }
    /// Creates a URL as it is written.
    public init(_ url: URL) { self = .string(url.absoluteString) }
    /// Creates bytes.
    public init(_ bytes: Data) { self = .data(bytes) }
    /// Creates an ordered list.
    public init(_ elements: [ParameterValue]) { self = .array(elements) }
    /// Creates an object.
    public init(_ members: [String: ParameterValue]) { self = .object(members) }

    /// Creates the value of an `Encodable`, as ``Parameters/init(_:dates:)`` does for the members of one.
    ///
    /// - Throws: ``NetworkError`` with code `invalidParameters` for what `encode(to:)` throws.
    public init(encoding value: some Encodable, dates: Parameters.Dates = .iso8601) throws(NetworkError) {
        self = try ParameterEncoder(dates: dates).encode(value)
    }
}

extension ParameterValue: Encodable {
    /// Writes the value into another encoder: bytes as `Data`, a set as an array.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .data(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .set(let value): try container.encode(Array(value))
        case .object(let value): try container.encode(value)
        }
    }
}

extension ParameterValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
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
    /// Makes an array, written in its order.
    public init(arrayLiteral elements: ParameterValue...) { self = .array(elements) }
    /// Of equal names the last one counts.
    public init(dictionaryLiteral elements: (String, ParameterValue)...) {
        self = .object(Dictionary(elements, uniquingKeysWith: { _, last in last }))
    }
}
