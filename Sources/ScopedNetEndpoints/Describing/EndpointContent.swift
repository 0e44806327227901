public import ScopedNet

/// The content of an ``Endpoint``, and its place in the request. New cases may be added; keep a default when you switch.
public enum EndpointContent: Sendable {
    /// Nothing.
    case none
    /// The properties of a value, in the query.
    case query(any Encodable & Sendable)
    /// The properties of a value, as a form (`application/x-www-form-urlencoded`) in the body.
    case form(any Encodable & Sendable)
    /// A value as JSON in the body, by the session's coding.
    case json(any Encodable & Sendable)
    /// A body of any kind: multipart, a file, bytes, a sequence.
    case body(RequestBody)

    /// - Throws: ``NetworkError`` with code `invalidParameters` for a value that has no named members.
    func parameters() throws(NetworkError) -> (query: Parameters, body: APICall.Body) {
        switch self {
        case .none: ([:], .none)
        case .query(let value): (try Self.parameters(of: value), .none)
        case .form(let value): ([:], .form(try Self.parameters(of: value)))
        case .json(let value): ([:], .whole(.json(value)))
        case .body(let body): ([:], .whole(body))
        }
    }

    private static func parameters(of value: some Encodable) throws(NetworkError) -> Parameters { try Parameters(value) }
}
