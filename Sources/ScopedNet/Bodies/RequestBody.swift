public import FoundationEssentials
package import HTTPTypes

/// What a request sends: bytes, a file, or a sequence made while sending.
public struct RequestBody: Sendable {
    package enum Content: Sendable {
        case data(Data)
        case file(path: String)
        case stream(UploadSource)
    }

    /// Bytes, file or stream. A JSON value that no request has encoded yet is written by the standard coding.
    package var content: Content { deferred == nil ? settledContent : resolved(with: .standard).settledContent }
    let settledContent: Content
    let deferred: DeferredJSON?
    /// Sent where neither request nor session say a type.
    package var contentType: String?
    /// The boundary is part of the type: nobody else's will do, and the methods without a body will not either.
    package var isMultipart = false
    /// The value of `Content-Encoding`; nil for a body that is sent as it is.
    package var contentEncoding: String?
    /// What was wrong with the value it was made of; the next start fails with it.
    package var failure: NetworkError? {
        get { deferred == nil ? settledFailure : resolved(with: .standard).settledFailure }
        set { settledFailure = newValue }
    }
    private var settledFailure: NetworkError?

    package init(content: Content, contentType: String? = nil, isMultipart: Bool = false, failure: NetworkError? = nil) {
        settledContent = content
        deferred = nil
        self.contentType = contentType
        self.isMultipart = isMultipart
        settledFailure = failure
    }

    /// A JSON value that waits for the coding of a session.
    init(deferred: DeferredJSON) {
        settledContent = .data(Data())
        self.deferred = deferred
        contentType = "application/json"
    }

    /// The same in bytes, by the JSON coding of a session.
    package func resolved(with coding: JSONCoding) -> RequestBody { deferred?.encode(coding) ?? self }

    /// Bytes in memory. Can be sent again.
    public static func data(_ data: Data) -> RequestBody { RequestBody(content: .data(data)) }

    /// A file, read while it is sent. Can be sent again. A file that cannot be read is `fileUnreadable`; one that
    /// changes its length while it is sent is `bodyStreamFailed`.
    public static func file(_ path: String) -> RequestBody { RequestBody(content: .file(path: path)) }

    /// Sends a sequence, pulled with backpressure: at most two pieces wait for the network.
    ///
    /// - Parameters:
    ///   - bytes: the contents, in pieces of any size.
    ///   - length: the exact number of bytes, if known; otherwise chunked framing is used on HTTP/1.1. A sequence that gives more or fewer
    ///     is `bodyStreamFailed`. The piece that completes it leaves when the sequence has ended: bytes behind it are never dropped without
    ///     a word. One that does not end is `bodyStreamFailed` after ``Timeouts/idle``. Of a length of 0 the sequence is not
    ///     asked; a negative one is `invalidOption`.
    ///   - isReplayable: true when iterating the sequence a second time gives the same bytes. When it does not, redirects that keep the
    ///     body, retries and a second start fail with `bodyNotReplayable`. Default: false.
    /// - Returns: a body without a type; the request's fields may give it one.
    public static func stream<Bytes: AsyncSequence & Sendable>(
        _ bytes: Bytes, length: Int64? = nil, isReplayable: Bool = false
    ) -> RequestBody where Bytes.Element == Data {
        let source = UploadSource(length: length, isReplayable: isReplayable) { stream in
            for try await piece in bytes { try await stream.send(piece) }
        }
        var body = RequestBody(content: .stream(source))
        if let length, length < 0 {
            body.failure = NetworkError(.invalidOption, phase: .preparing, message: "a body cannot be \(length) bytes long")
        }
        return body
    }

    var isDeferred: Bool { deferred != nil }

    /// - Throws: what was wrong with the value it was made of, and `invalidOption` for a multipart form with GET or HEAD, where a body has no
    ///   meaning (RFC 9110 section 9.3).
    package func check(for method: HTTPRequest.Method) throws(NetworkError) {
        if let failure { throw failure }
        guard isMultipart, ["GET", "HEAD"].contains(method.rawValue.uppercased()) else { return }
        throw NetworkError(.invalidOption, phase: .preparing, message: "a multipart form cannot be sent with \(method.rawValue)")
    }

    package var isReplayable: Bool {
        switch content {
        case .data, .file: true
        case .stream(let source): source.isReplayable
        }
    }

    /// Nil where it is not known before sending.
    package var length: Int64? {
        switch content {
        case .data(let data): Int64(data.count)
        case .file: nil
        case .stream(let source): source.length
        }
    }

    /// Streams and large bodies prefer HTTP/1.1 below libcurl 8.
    package var isLarge: Bool {
        switch content {
        case .data(let data): data.count > 1 << 20
        case .file, .stream: true
        }
    }
}

/// A JSON value and how it becomes a body.
struct DeferredJSON: Sendable {
    let encode: @Sendable (JSONCoding) -> RequestBody

    init(_ encode: @escaping @Sendable (JSONCoding) -> RequestBody) { self.encode = encode }
}
