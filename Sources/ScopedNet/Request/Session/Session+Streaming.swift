public import HTTPTypes

extension Session {
    /// Reads a body as it arrives, with backpressure: a GET, unless told otherwise.
    ///
    /// Returns when the head is there. Leaving the loop over ``StreamedResponse/bytes``, ending `bag` or cancelling the task stops the transfer.
    ///
    /// The body is neither stored in the session's cache nor read out of it. An unsafe method invalidates there before this returns.
    ///
    /// `window` is how many bytes may wait for the reader before the connection is paused, and the most that one piece has once its coding is
    /// undone. Throws `invalidOption` also where only what is stored is wanted (``CachePolicy/ReadMode/only``, `only-if-cached`).
    public func stream(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, query: Parameters = [:], headers: HeaderFields = [:],
        body: RequestBody? = nil, in bag: DeallocBag? = nil, window: Int = 256 << 10, fileID: StaticString = #fileID, line: Int = #line
    ) async throws(NetworkError) -> StreamedResponse {
        let origin = CodeOrigin(fileID, line)
        return try await StreamOpening.open(make(method, url, query, headers, body, .head, origin), in: bag, window: window, origin)
    }

    /// Sends a value as JSON, by the session's coding, and reads what is answered as it arrives: a POST, unless told otherwise.
    public func stream<JSON: Encodable & Sendable>(
        _ url: some URLConvertible, method: HTTPRequest.Method = .post, query: Parameters = [:], headers: HeaderFields = [:],
        json value: JSON, in bag: DeallocBag? = nil, window: Int = 256 << 10, fileID: StaticString = #fileID, line: Int = #line
    ) async throws(NetworkError) -> StreamedResponse {
        try await stream(
            url, method: method, query: query, headers: headers, body: .json(value), in: bag, window: window, fileID: fileID, line: line)
    }

    /// Sends JSON as it is written here, with variables, and reads what is answered as it arrives: a POST, unless told otherwise.
    @_disfavoredOverload
    public func stream(
        _ url: some URLConvertible, method: HTTPRequest.Method = .post, query: Parameters = [:], headers: HeaderFields = [:],
        json value: JSONLiteral, in bag: DeallocBag? = nil, window: Int = 256 << 10, fileID: StaticString = #fileID, line: Int = #line
    ) async throws(NetworkError) -> StreamedResponse {
        try await stream(
            url, method: method, query: query, headers: headers, body: .json(value), in: bag, window: window, fileID: fileID, line: line)
    }

    /// Sends a form, with variables, and reads what is answered as it arrives: a POST, unless told otherwise.
    public func stream(
        _ url: some URLConvertible, method: HTTPRequest.Method = .post, query: Parameters = [:], headers: HeaderFields = [:],
        form: Parameters, in bag: DeallocBag? = nil, window: Int = 256 << 10, fileID: StaticString = #fileID, line: Int = #line
    ) async throws(NetworkError) -> StreamedResponse {
        try await stream(
            url, method: method, query: query, headers: headers, body: .form(form), in: bag, window: window, fileID: fileID, line: line)
    }
}
