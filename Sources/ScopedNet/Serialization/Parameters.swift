/// The named parameters of a request.
///
/// ```swift
/// session.get("items", query: ["page": 2, "tags": ["swift", "linux"]])
/// ```
public struct Parameters: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    public var values: [String: ParameterValue]

    public init(_ values: [String: ParameterValue] = [:]) { self.values = values }

    /// Of equal names the last one counts.
    public init(dictionaryLiteral elements: (String, ParameterValue)...) {
        values = Dictionary(elements, uniquingKeysWith: { _, last in last })
    }

    /// The coded members of a value, such as a struct of options. A nil property is left out, as its synthesized `encode(to:)` does.
    ///
    /// - Parameter dates: how dates are written. There is no form all servers agree on, so none is the default: a date is then an error.
    /// - Throws: ``NetworkError`` with code `invalidParameters` for what is no set of named members, such as an array, a number or a string, for
    ///   a date without a strategy, and for what `encode(to:)` throws (as `underlying`).
    public init(_ value: some Encodable, dates: ParameterDates = .refused) throws(NetworkError) {
        guard case .object(let values) = try ParameterEncoder(dates: dates).encode(value) else {
            throw .invalidParameters("\(type(of: value)) has no named members")
        }
        self.values = values
    }

    public var isEmpty: Bool { values.isEmpty }

    /// Nil for a name that is not there; `.null` is a value.
    public subscript(name: String) -> ParameterValue? {
        get { values[name] }
        set { values[name] = newValue }
    }
}

extension NetworkError {
    static func invalidParameters(_ message: String, underlying: (any Error)? = nil) -> NetworkError {
        NetworkError(.invalidParameters, phase: .preparing, message: message, underlying: underlying)
    }
}
