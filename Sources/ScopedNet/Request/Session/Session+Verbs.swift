public import FoundationEssentials
public import HTTPTypes

/// Making requests. Nothing is sent before a start or an `await`; a mistake in what is given here (a malformed URL, a value that does not
/// encode, a header field with a line end) is an ordinary failure of the run.
///
/// All forms take the same:
/// - a URL: a `String`, relative to the session's base URL or absolute, or a `URL` (``URLConvertible``).
/// - `query`: goes behind a query the URL already has, and before its fragment.
/// - `headers`: fields by text or standard name (``HeaderFields``).
/// - one of `body` (``RequestBody``), `json` (any `Encodable` value, or a literal with variables) and `form`.
/// - `as`: the type of the value. `Data`, the default, is the body as it is, `String` its text, `Void` drops it, and what else is `Decodable`
///   is read from JSON, by the session's coding. An optional is nil for an empty body. `decoder` is for everything else, and for a `Data` or
///   `String` inside of JSON.
///
/// A coder for one call: `body: .json(story, encoder: { … })` writes with it, and `decoder: .json(Story.self, decoder: { … })` reads.
///
/// Where a value is read from JSON, `Accept: application/json` is sent, unless the request or the session has a field of its own.
extension Session {
    // MARK: Without a body

    /// Makes a GET.
    public func get<Value: Decodable & Sendable>(
        _ url: some URLConvertible, query: Parameters = [:], headers: HeaderFields = [:], as type: Value.Type = Data.self,
        fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Value> {
        make(.get, url, query, headers, nil, .reading(type), CodeOrigin(fileID, line))
    }

    /// Makes a GET; what is answered does not matter.
    public func get(
        _ url: some URLConvertible, query: Parameters = [:], headers: HeaderFields = [:], as type: Void.Type,
        fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Void> {
        make(.get, url, query, headers, nil, .discarding, CodeOrigin(fileID, line))
    }

    /// Makes a GET; the value is what `decoder` makes of the response.
    public func get<Value: Sendable>(
        _ url: some URLConvertible, query: Parameters = [:], headers: HeaderFields = [:], decoder: ResponseDecoder<Value>,
        fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Value> {
        make(.get, url, query, headers, nil, decoder, CodeOrigin(fileID, line))
    }

    /// Makes a HEAD: what a GET would answer, without the body.
    public func head(
        _ url: some URLConvertible, query: Parameters = [:], headers: HeaderFields = [:],
        fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<ResponseHead> {
        make(.head, url, query, headers, nil, .head, CodeOrigin(fileID, line))
    }

    // MARK: With a body

    /// Makes a POST: `session.post("submit", json: story, as: Receipt.self)`. See ``Verb`` for its forms.
    public var post: Verb { Verb(session: self, method: .post) }

    /// Makes a PUT: `session.put("stories/7", json: story)`. See ``Verb`` for its forms.
    public var put: Verb { Verb(session: self, method: .put) }

    /// Makes a PATCH: `session.patch("stories/7", json: ["title": title])`. See ``Verb`` for its forms.
    public var patch: Verb { Verb(session: self, method: .patch) }

    /// Makes a DELETE: `session.delete("stories/7", as: Void.self)`. See ``Verb`` for its forms.
    public var delete: Verb { Verb(session: self, method: .delete) }

    // MARK: Of any method

    /// Makes a request of any method: `session.request("stories", method: .options, as: Void.self)`. See ``AnyVerb`` for its forms.
    public var request: AnyVerb { AnyVerb(session: self) }

    // MARK: The one they are made by

    func make<Value: Sendable>(
        _ method: HTTPRequest.Method, _ url: some URLConvertible, _ query: Parameters, _ headers: HeaderFields, _ body: RequestBody?,
        _ decoder: ResponseDecoder<Value>, _ origin: CodeOrigin, destination: String? = nil, failure: NetworkError? = nil
    ) -> Request<Value> {
        let description = factory.description(
            method, url.urlReference, query, headers, body, accepting: decoder.mediaType, destination: destination, failure: failure)
        return Request(session: self, decoder: decoder, description: description, origin: origin)
    }
}

extension ResponseDecoder where Value: Decodable {
    /// The decoder of a value's type: bytes and text as they are, also where they may be missing, all else from JSON.
    static func reading(_ type: Value.Type) -> ResponseDecoder {
        if type == Data.self, let bytes = ResponseDecoder<Data>.data as? ResponseDecoder { return bytes }
        if type == String.self, let text = ResponseDecoder<String>.text as? ResponseDecoder { return text }
        if type == Data?.self, let bytes = bytesOrNil as? ResponseDecoder { return bytes }
        if type == String?.self, let text = textOrNil as? ResponseDecoder { return text }
        return .json(type)
    }
}

/// The body as it is; nil for an empty one.
private let bytesOrNil = ResponseDecoder<Data?>(immediately: { (_: ResponseHead, body: Data) in body.isEmpty ? nil : body })

/// The body as text; nil for an empty one.
private let textOrNil: ResponseDecoder<String?> = ResponseDecoder<String>.text.map { $0.isEmpty ? nil : $0 }
