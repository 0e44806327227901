public import FoundationEssentials
public import HTTPTypes

extension Session {
    /// GET a file. The destination is replaced in one step, on success only; the folder must exist. Only a regular file is replaced: a
    /// device, a FIFO or a folder in its place is `fileUnwritable`. A URL that ends with a slash, as
    /// `URL(fileURLWithPath:)` makes for a folder that exists, is a folder: the name in it is the server's
    /// (RFC 6266), made safe, or the end of the URL.
    public func download(
        _ url: some URLConvertible, to file: URL, query: Parameters = [:], headers: HeaderFields = [:],
        fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<URL> {
        let decoder = ResponseDecoder<URL>.placing { path, _ in path.map { $0 == file.path ? file : URL(filePath: $0) } ?? file }
        return make(.get, url, query, headers, nil, decoder, CodeOrigin(fileID, line), destination: Self.destination(file))
    }

    /// What the check before the start refuses: nothing for a URL of another scheme, and a path with its NUL, where `path` would just end.
    static func destination(_ file: URL) -> String {
        guard file.isFileURL else { return "" }
        let path = file.hasDirectoryPath && file.path != "/" ? file.path + "/" : file.path
        return file.path(percentEncoded: true).contains("%00") ? path + "\0" : path
    }

    /// Sends and awaits; the same as `request(…).response()`.
    public func send(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, query: Parameters = [:], headers: HeaderFields = [:],
        body: RequestBody? = nil, fileID: StaticString = #fileID, line: Int = #line
    ) async throws(NetworkError) -> Response<Data> {
        let request = request(url, method: method, query: query, headers: headers, body: body, fileID: fileID, line: line)
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
    /// A mistake that was made when the request was described, other than in a header field.
    private let mistake: NetworkError?
    /// The fields that were refused when they were set; no others.
    private let refused: HeaderFields
    /// The next start fails with it.
    var failure: NetworkError? { mistake ?? refused.refusal }

    init(
        url: String, method: HTTPRequest.Method, headers: HTTPFields, body: RequestBody?, options: OptionsBox, destination: String?,
        mistake: NetworkError? = nil, refused: HeaderFields = [:]
    ) {
        self.url = url
        self.method = method
        self.headers = headers
        self.body = body
        self.options = options
        self.destination = destination
        self.mistake = mistake
        self.refused = refused
    }

    /// With its body in bytes, where that is a JSON value that waits for the session's coding.
    func resolved(with coding: JSONCoding) -> RequestDescription {
        guard let body, body.isDeferred else { return self }
        return RequestDescription(
            url: url, method: method, headers: headers, body: body.resolved(with: coding), options: options, destination: destination,
            mistake: mistake, refused: refused)
    }

    func with(_ options: RequestOptions) -> RequestDescription {
        RequestDescription(
            url: url, method: method, headers: headers, body: body, options: OptionsBox(options), destination: destination,
            mistake: mistake, refused: refused)
    }

    func with(url: String) -> RequestDescription {
        RequestDescription(
            url: url, method: method, headers: headers, body: body, options: options, destination: destination, mistake: mistake,
            refused: refused)
    }

    /// With a header field; what was refused of its name before counts no more.
    func with(_ name: String, _ value: String) -> RequestDescription {
        var (headers, refused) = (headers, refused)
        refused[HeaderFields.Name(name)] = value
        if let field = refused.fields.first { headers[field.name] = field.value }
        return RequestDescription(
            url: url, method: method, headers: headers, body: body, options: options, destination: destination, mistake: mistake,
            refused: refused.mistakes)
    }

    func with(_ error: NetworkError) -> RequestDescription {
        RequestDescription(
            url: url, method: method, headers: headers, body: body, options: options, destination: destination, mistake: mistake ?? error,
            refused: refused)
    }
}

/// Options by reference; the session's defaults are shared by all requests that leave them as they are.
package final class OptionsBox: Sendable {
    let value: RequestOptions
    init(_ value: RequestOptions) { self.value = value }
}
