import FoundationEssentials

/// The body of a failed response, and the reading of error documents from it. (pure)
struct ErrorBody: Sendable {
    /// The bytes, or the first of them; nil where the response had no body.
    var data: Data?
    /// The length of the whole body; nil where that is the length of ``data``.
    var totalBytes: Int?
    /// The JSON coding of the session; nil for the standard one.
    var coding: JSONCoding?
    /// The type of the session's error documents.
    var documentType: any NetworkError.Document.Type = NetworkError.ProblemDetails.self

    /// The length of the whole body; nil without one.
    var count: Int? { data.map { totalBytes ?? $0.count } }

    /// Returns the error document of the session's type; nil where the body is of another media type or is no such document.
    func document(mimeType: String?) -> (any NetworkError.Document)? {
        guard let data, !data.isEmpty else { return nil }
        guard documentType.mediaTypes.isEmpty || documentType.mediaTypes.contains(mimeType ?? "") else { return nil }
        return decode(documentType, data)
    }

    private func decode<Document: NetworkError.Document>(_ type: Document.Type, _ data: Data) -> (any NetworkError.Document)? {
        // The members of RFC 9457 have names of their own, whatever the session's are.
        let decoder = type == NetworkError.ProblemDetails.self ? JSONDecoder() : (coding ?? .standard).decoder()
        return try? decoder.decode(type, from: data)
    }

    /// Returns the problem document (RFC 9457), whatever the session expects; nil where the body is none.
    func problem(mimeType: String?) -> NetworkError.ProblemDetails? {
        guard let data, mimeType == "application/problem+json" else { return nil }
        return try? JSONDecoder().decode(NetworkError.ProblemDetails.self, from: data)
    }

    /// Returns the message of the error document for a person, on one line of at most 500 characters.
    func message(mimeType: String?) -> String? {
        guard let message = document(mimeType: mimeType)?.message?.printable, !message.isEmpty else { return nil }
        return message.count > 500 ? message.prefix(500) + "…" : message
    }

    /// Decodes the bytes as JSON; nil without a body, and where it has another form.
    func decoded<Value: Decodable>(as type: Value.Type, decoder: (@Sendable () -> JSONDecoder)?) -> Value? {
        data.flatMap { try? (decoder ?? (coding ?? .standard).decoder)().decode(type, from: $0) }
    }

    /// Decodes the bytes with a response decoder of the program.
    func decoded<Value: Sendable>(by decoder: ResponseDecoder<Value>, head: ResponseHead?) throws -> Value {
        guard let head, let data else { throw NetworkError.EmptyBody(expected: "\(Value.self)") }
        return try decoder.resolved(with: coding ?? .standard).make(head, data)
    }
}
