public import FoundationEssentials

/// The value of a request's parameter, written as a literal or made of an `Encodable`: `["page": 2, "tags": ["a", "b"], "draft": false]`.
///
/// What becomes of it depends on where it goes: see ``ParameterStyle`` for queries, forms and multipart, and ``JSONValue`` for JSON.
public enum ParameterValue: Sendable, Hashable {
    /// A name alone in a query or form, an empty part in multipart, `null` in JSON.
    case null
    case bool(Bool)
    case integer(Int64)
    case double(Double)
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

extension ParameterValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringInterpolation, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(nilLiteral: ()) { self = .null }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral elements: ParameterValue...) { self = .array(elements) }
    /// Of equal names the last one counts.
    public init(dictionaryLiteral elements: (String, ParameterValue)...) {
        self = .object(Dictionary(elements, uniquingKeysWith: { _, last in last }))
    }
}
