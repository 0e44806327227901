public import FoundationEssentials
public import HTTPTypes

/// The verbs, with parameters. Nothing is sent before a start or an `await`; parameters that cannot be written fail the start
/// with `invalidParameters`.
///
/// URLs are resolved against the session's base URL. `query` goes behind a query the URL already has, and before its fragment.
extension Session {
    /// GET a document whose value is JSON.
    public func get<Value: Decodable & Sendable>(
        _ url: String, query: Parameters, as type: Value.Type = Value.self, headers: HTTPFields = [:],
        fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Value> {
        make(.get, url, query, nil, headers.accepting(), .json(type), CodeOrigin(fileID, line))
    }

    /// GET a document as it is.
    public func get(
        _ url: String, query: Parameters, headers: HTTPFields = [:], fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Data> {
        make(.get, url, query, nil, headers, .data, CodeOrigin(fileID, line))
    }

    /// HEAD: what a GET would answer, without the body.
    public func head(
        _ url: String, query: Parameters = [:], headers: HTTPFields = [:], fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<ResponseHead> {
        make(.head, url, query, nil, headers, .head, CodeOrigin(fileID, line))
    }

    /// DELETE.
    public func delete(
        _ url: String, query: Parameters = [:], headers: HTTPFields = [:], fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Data> {
        make(.delete, url, query, nil, headers, .data, CodeOrigin(fileID, line))
    }

    /// POST a body: ``RequestBody/json(_:encoder:)``, ``RequestBody/form(_:query:)``, ``RequestBody/multipart(_:)``, bytes, a file or a stream.
    public func post(
        _ url: String, query: Parameters = [:], body: RequestBody? = nil, headers: HTTPFields = [:],
        fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Data> {
        make(.post, url, query, body, headers, .data, CodeOrigin(fileID, line))
    }

    /// POST, where the answer is JSON.
    public func post<Value: Decodable & Sendable>(
        _ url: String, query: Parameters = [:], body: RequestBody? = nil, as type: Value.Type, headers: HTTPFields = [:],
        fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Value> {
        make(.post, url, query, body, headers.accepting(), .json(type), CodeOrigin(fileID, line))
    }

    /// PUT a body.
    public func put(
        _ url: String, query: Parameters = [:], body: RequestBody? = nil, headers: HTTPFields = [:],
        fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Data> {
        make(.put, url, query, body, headers, .data, CodeOrigin(fileID, line))
    }

    /// PUT, where the answer is JSON.
    public func put<Value: Decodable & Sendable>(
        _ url: String, query: Parameters = [:], body: RequestBody? = nil, as type: Value.Type, headers: HTTPFields = [:],
        fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Value> {
        make(.put, url, query, body, headers.accepting(), .json(type), CodeOrigin(fileID, line))
    }

    /// PATCH with a body.
    public func patch(
        _ url: String, query: Parameters = [:], body: RequestBody? = nil, headers: HTTPFields = [:],
        fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Data> {
        make(.patch, url, query, body, headers, .data, CodeOrigin(fileID, line))
    }

    /// PATCH, where the answer is JSON.
    public func patch<Value: Decodable & Sendable>(
        _ url: String, query: Parameters = [:], body: RequestBody? = nil, as type: Value.Type, headers: HTTPFields = [:],
        fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Value> {
        make(.patch, url, query, body, headers.accepting(), .json(type), CodeOrigin(fileID, line))
    }

    /// Sends and awaits; the same as a request with that query and its `response()`.
    public func send(
        _ url: String, method: HTTPRequest.Method = .get, query: Parameters, headers: HTTPFields = [:], body: RequestBody? = nil,
        fileID: StaticString = #fileID, line: Int = #line
    ) async throws(NetworkError) -> Response<Data> {
        let request = make(method, url, query, body, headers, .data, CodeOrigin(fileID, line))
        return try await request.response(fileID: fileID, line: line)
    }

    /// A request whose parameters go where its method wants them: into the URL, or as a form, as JSON, … into the body.
    ///
    /// - Parameter parameters: nil for none; see ``ParameterSerializer/serialize(_:method:url:)`` for the difference to an empty set.
    public func request<Value: Sendable>(
        _ url: String, method: HTTPRequest.Method, parameters: Parameters?, by serializer: ParameterSerializer,
        headers: HTTPFields = [:], decoder: ResponseDecoder<Value>, fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Value> {
        let origin = CodeOrigin(fileID, line)
        do throws(NetworkError) {
            let output = try serializer.serialize(parameters, method: method, url: url)
            return make(method, output.url, [:], output.body, headers, decoder, origin)
        } catch { return make(method, url, [:], nil, headers, decoder, origin, failure: error) }
    }

    /// The same, with the body as its value.
    public func request(
        _ url: String, method: HTTPRequest.Method, parameters: Parameters?, by serializer: ParameterSerializer,
        headers: HTTPFields = [:], fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Data> {
        request(
            url, method: method, parameters: parameters, by: serializer, headers: headers, decoder: .data, fileID: fileID, line: line)
    }

    private func make<Value: Sendable>(
        _ method: HTTPRequest.Method, _ url: String, _ query: Parameters, _ body: RequestBody?, _ headers: HTTPFields,
        _ decoder: ResponseDecoder<Value>, _ origin: CodeOrigin, failure: NetworkError? = nil
    ) -> Request<Value> {
        var failure = failure
        var url = url
        do throws(NetworkError) { url = try QuerySerializer.standard.appending(query, to: url) } catch { failure = failure ?? error }
        return Request(
            session: self, decoder: decoder,
            description: RequestDescription(
                url: url, method: method, headers: headers, body: body, options: defaultOptions, destination: nil, headerError: failure),
            origin: origin)
    }
}

extension HTTPFields {
    /// Says that JSON is wanted, unless the caller said something.
    fileprivate func accepting() -> HTTPFields {
        guard self[.accept] == nil else { return self }
        var fields = self
        fields[.accept] = "application/json"
        return fields
    }
}
