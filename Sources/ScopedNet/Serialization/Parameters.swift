/// The named parameters of a request, written in place or made of an `Encodable`.
///
/// ```swift
/// session.get("items", query: ["q": text, "page": page, "tags": tags, "since": date, "by": author])
/// ```
///
/// A value is anything `Encodable`: texts, numbers, truth values, `UUID`, `URL`, an enum with raw values that is `Encodable`
/// (`ParameterValue(sort)` takes any), arrays and structs of these. A `Date` is written as RFC 3339 has it (``Parameters/Dates/iso8601``); for another form make a number or a text of it.
/// A nil leaves its name out; ``ParameterValue/null`` is the name alone. A list of several types is written `[1, "two"] as ParameterValue`.
public struct Parameters: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    /// The values by their names.
    public var values: [String: ParameterValue]
    /// The first value of a literal that could not be written; everything that writes the parameters throws it.
    private var failure: ParameterFailure?

    /// Creates parameters of values that are there.
    public init(_ values: [String: ParameterValue] = [:]) { self.values = values }

    /// Creates parameters as written in place. Of equal names the last one counts.
    ///
    /// A value whose `encode(to:)` throws fails the request that is made of them, with `invalidParameters`.
    public init(dictionaryLiteral elements: (String, (any Encodable)?)...) {
        values = Dictionary(minimumCapacity: elements.count)
        for (name, value) in elements {
            guard let value, (value as? any OptionalParameter)?.isNil != true else {
                values[name] = nil
                continue
            }
            do throws(NetworkError) { values[name] = try ParameterEncoder(dates: .iso8601).encode(value) } catch {
                failure = failure ?? ParameterFailure(error: error)
            }
        }
    }

    /// - Throws: what made a value of the literal impossible to write.
    package func check() throws(NetworkError) {
        if let failure { throw failure.error }
    }

    /// Takes the coded members of a value, such as a struct of options. A nil property is left out, as its synthesized `encode(to:)` does.
    ///
    /// - Parameters:
    ///   - value: anything with named members.
    ///   - dates: the form of dates; by default that of RFC 3339.
    /// - Throws: ``NetworkError`` with code `invalidParameters` for what is no set of named members, such as an array, a number or a
    ///   string, for a date that is ``Parameters/Dates/refused``, and for what `encode(to:)` throws (as `underlying`).
    public init(_ value: some Encodable, dates: Parameters.Dates = .iso8601) throws(NetworkError) {
        guard case .object(let values) = try ParameterEncoder(dates: dates).encode(value) else {
            throw .invalidParameters("\(type(of: value)) has no named members")
        }
        self.values = values
    }

    /// True when there is no parameter.
    public var isEmpty: Bool { values.isEmpty }

    /// Nil for a name that is not there; `.null` is a value.
    public subscript(name: String) -> ParameterValue? {
        get { values[name] }
        set { values[name] = newValue }
    }
}

/// An error as a part of parameters, which can be compared.
private struct ParameterFailure: Sendable, Hashable {
    let error: NetworkError

    static func == (left: ParameterFailure, right: ParameterFailure) -> Bool { left.error.message == right.error.message }
    func hash(into hasher: inout Hasher) { hasher.combine(error.message) }
}

/// An optional whose nil is found behind `any Encodable`.
private protocol OptionalParameter {
    var isNil: Bool { get }
}

extension Optional: OptionalParameter {
    fileprivate var isNil: Bool {
        switch self {
        case .none: true
        case .some(let wrapped): (wrapped as? any OptionalParameter)?.isNil == true
        }
    }
}

extension NetworkError {
    static func invalidParameters(_ message: String, underlying: (any Error)? = nil) -> NetworkError {
        NetworkError(.invalidParameters, phase: .preparing, message: message, underlying: underlying)
    }
}
