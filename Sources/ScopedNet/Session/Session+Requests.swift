public import FoundationEssentials
public import HTTPTypes

/// Making requests. Nothing is sent before a start; mistakes (a malformed URL, a header with a line end) come as an ordinary failure
/// of the run, never from here.
extension Session {
    /// A request whose value is the body.
    public func request(
        _ url: String, method: HTTPRequest.Method = .get, headers: HTTPFields = [:], body: RequestBody? = nil,
        fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Data> {
        request(url, method: method, headers: headers, body: body, decoder: .data, fileID: fileID, line: line)
    }

    public func request(
        _ url: URL, method: HTTPRequest.Method = .get, headers: HTTPFields = [:], body: RequestBody? = nil,
        fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Data> {
        request(url.absoluteString, method: method, headers: headers, body: body, decoder: .data, fileID: fileID, line: line)
    }

    /// A request whose value is what `decoder` makes of the body.
    public func request<Value: Sendable>(
        _ url: String, method: HTTPRequest.Method = .get, headers: HTTPFields = [:], body: RequestBody? = nil,
        decoder: ResponseDecoder<Value>,
        fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Value> {
        Request(
            session: self, decoder: decoder,
            description: RequestDescription(
                url: url, method: method, headers: headers, body: body, options: defaultOptions, destination: nil),
            origin: CodeOrigin(fileID, line))
    }

    /// GET a JSON document.
    public func get<Value: Decodable & Sendable>(
        _ url: String, as type: Value.Type = Value.self, headers: HTTPFields = [:], fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Value> {
        var headers = headers
        if headers[.accept] == nil { headers[.accept] = "application/json" }
        return request(url, headers: headers, decoder: .json(type), fileID: fileID, line: line)
    }

    /// GET a file. The destination is replaced in one step, on success only; the folder must exist. Only a regular file is replaced: a
    /// device, a FIFO or a folder in its place is `fileUnwritable`. A URL that ends with a slash, as
    /// `URL(fileURLWithPath:)` makes for a folder that exists, is a folder: the name in it is the server's
    /// (RFC 6266), made safe, or the end of the URL.
    public func download(
        _ url: String, to file: URL, headers: HTTPFields = [:], fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<URL> {
        var options = configuration.options
        options.acceptsCompression = false
        return Request(
            session: self, decoder: .placing { path, _ in path.map { $0 == file.path ? file : URL(filePath: $0) } ?? file },
            description: RequestDescription(
                url: url, method: .get, headers: headers, body: nil, options: OptionsBox(options), destination: Self.destination(file)),
            origin: CodeOrigin(fileID, line))
    }

    /// What the check before the start refuses: nothing for a URL of another scheme, and a path with its NUL, where `path` would just end.
    static func destination(_ file: URL) -> String {
        guard file.isFileURL else { return "" }
        let path = file.hasDirectoryPath && file.path != "/" ? file.path + "/" : file.path
        return file.path(percentEncoded: true).contains("%00") ? path + "\0" : path
    }

    /// Sends and awaits; the same as `request(…).value()`.
    public func send(
        _ url: String, method: HTTPRequest.Method = .get, headers: HTTPFields = [:], body: RequestBody? = nil,
        fileID: StaticString = #fileID, line: Int = #line
    ) async throws(NetworkError) -> Response<Data> {
        let request = request(url, method: method, headers: headers, body: body, fileID: fileID, line: line)
        return try await request.response(fileID: fileID, line: line)
    }

    /// Sends and awaits a request's response.
    public func send<Value: Sendable>(
        _ request: Request<Value>, in bag: DeallocBag? = nil, fileID: StaticString = #fileID, line: Int = #line
    ) async throws(NetworkError) -> Response<Value> {
        try await request.response(in: bag, fileID: fileID, line: line)
    }
}

/// What a request was asked to be, before it is checked. Immutable: copying it costs one reference.
package final class RequestDescription: Sendable {
    let url: String
    let method: HTTPRequest.Method
    let headers: HTTPFields
    let body: RequestBody?
    let destination: String?
    let options: OptionsBox
    /// A field that was refused when it was set; the next start fails with it.
    let headerError: NetworkError?

    init(
        url: String, method: HTTPRequest.Method, headers: HTTPFields, body: RequestBody?, options: OptionsBox, destination: String?,
        headerError: NetworkError? = nil
    ) {
        self.url = url
        self.method = method
        self.headers = headers
        self.body = body
        self.options = options
        self.destination = destination
        self.headerError = headerError
    }

    /// With its body in bytes, where that is a JSON value that waits for the session's coding.
    func resolved(with coding: JSONCoding) -> RequestDescription {
        guard let body, body.isDeferred else { return self }
        return RequestDescription(
            url: url, method: method, headers: headers, body: body.resolved(with: coding), options: options, destination: destination,
            headerError: headerError)
    }

    func with(_ options: RequestOptions) -> RequestDescription {
        RequestDescription(
            url: url, method: method, headers: headers, body: body, options: OptionsBox(options), destination: destination,
            headerError: headerError)
    }

    func with(_ field: Result<HTTPField, NetworkError>) -> RequestDescription {
        var headers = headers
        var refusal = headerError
        switch field {
        case .success(let field): headers[field.name] = field.value
        case .failure(let error): refusal = refusal ?? error
        }
        return RequestDescription(
            url: url, method: method, headers: headers, body: body, options: options, destination: destination, headerError: refusal)
    }
}

/// Options by reference; the session's defaults are shared by all requests that leave them as they are.
package final class OptionsBox: Sendable {
    let value: RequestOptions
    init(_ value: RequestOptions) { self.value = value }
}
