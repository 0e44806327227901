public import FoundationEssentials
public import HTTPTypes

extension Session {
    /// Makes a request whose body goes to a file; a GET unless told otherwise. The destination is replaced in one step, on success only; the folder must exist. Only a regular file is replaced: a
    /// device, a FIFO or a folder in its place is `fileUnwritable`. A URL that ends with a slash, as
    /// `URL(fileURLWithPath:)` makes for a folder that exists, is a folder: the name in it is the server's
    /// (RFC 6266), made safe, or the end of the URL.
    public func download(
        _ url: some URLConvertible, to file: URL, method: HTTPRequest.Method = .get, query: Parameters = [:], headers: HeaderFields = [:],
        body: RequestBody? = nil, fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<URL> {
        let decoder = ResponseDecoder<URL>.placing { path, _ in path.map { $0 == file.path ? file : URL(filePath: $0) } ?? file }
        return make(method, url, query, headers, body, decoder, CodeOrigin(fileID, line), destination: DownloadPlace.path(file))
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
