public import FoundationEssentials
public import HTTPTypes

/// Making requests. Nothing is sent before a start; mistakes (a malformed URL, a header with a line end) come as an ordinary failure
/// of the run, never from here.
extension Session {
    /// A request whose value is the body.
    public func request(
        _ url: String, method: HTTPRequest.Method = .get, headers: HTTPFields = [:], body: RequestBody? = nil
    ) -> Request<Data> {
        request(url, method: method, headers: headers, body: body, decoder: .data)
    }

    public func request(
        _ url: URL, method: HTTPRequest.Method = .get, headers: HTTPFields = [:], body: RequestBody? = nil
    ) -> Request<Data> {
        request(url.absoluteString, method: method, headers: headers, body: body, decoder: .data)
    }

    /// A request whose value is what `decoder` makes of the body.
    public func request<Value: Sendable>(
        _ url: String, method: HTTPRequest.Method = .get, headers: HTTPFields = [:], body: RequestBody? = nil, decoder: ResponseDecoder<Value>
    ) -> Request<Value> {
        Request(
            session: self, decoder: decoder,
            description: RequestDescription(url: url, method: method, headers: headers, body: body, options: defaultOptions, destination: nil))
    }

    /// GET a JSON document.
    public func get<Value: Decodable & Sendable>(_ url: String, as type: Value.Type = Value.self, headers: HTTPFields = [:]) -> Request<Value> {
        var headers = headers
        if headers[.accept] == nil { headers[.accept] = "application/json" }
        return request(url, headers: headers, decoder: .json(type))
    }

    /// GET a file. The destination is replaced in one step, on success only; the folder must exist. Only a regular file is replaced: a
    /// device, a FIFO or a folder in its place is `fileUnwritable`.
    public func download(_ url: String, to file: URL, headers: HTTPFields = [:]) -> Request<URL> {
        var options = configuration.options
        options.acceptsCompression = false
        return Request(
            session: self, decoder: ResponseDecoder(immediately: { _, _ in file }),
            description: RequestDescription(url: url, method: .get, headers: headers, body: nil, options: OptionsBox(options),
                destination: Self.destination(file)))
    }

    /// What the check before the start refuses: nothing for a URL of another scheme, and a path with its NUL, where `path` would just end.
    private static func destination(_ file: URL) -> String {
        guard file.isFileURL else { return "" }
        return file.path(percentEncoded: true).contains("%00") ? file.path + "\0" : file.path
    }

    /// Sends and awaits; the same as `request(…).value()`.
    public func send(
        _ url: String, method: HTTPRequest.Method = .get, headers: HTTPFields = [:], body: RequestBody? = nil
    ) async throws(NetworkError) -> Response<Data> {
        try await request(url, method: method, headers: headers, body: body).response()
    }

    /// Sends and awaits a request's response.
    public func send<Value: Sendable>(_ request: Request<Value>, in bag: DeallocBag? = nil) async throws(NetworkError) -> Response<Value> {
        try await request.response(in: bag)
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

    init(url: String, method: HTTPRequest.Method, headers: HTTPFields, body: RequestBody?, options: OptionsBox, destination: String?) {
        self.url = url
        self.method = method
        self.headers = headers
        self.body = body
        self.options = options
        self.destination = destination
    }

    func with(_ options: RequestOptions) -> RequestDescription {
        RequestDescription(url: url, method: method, headers: headers, body: body, options: OptionsBox(options), destination: destination)
    }
}

/// Options by reference; the session's defaults are shared by all requests that leave them as they are.
package final class OptionsBox: Sendable {
    let value: RequestOptions
    init(_ value: RequestOptions) { self.value = value }
}
