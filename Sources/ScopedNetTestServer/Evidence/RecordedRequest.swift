#if TestServer
/// A request as the server received it, and the live evidence of how its answer went.
public struct RecordedRequest: Sendable {
    /// What TLS agreed on for the connection.
    public struct TLSDetails: Sendable, Hashable {
        /// The protocol version: `"TLSv1.2"` or `"TLSv1.3"`.
        public var version: String
        /// The server name the client asked for (SNI); nil when it sent none.
        public var serverName: String?
        /// The subject of the client's certificate; nil when it showed none.
        public var clientSubject: String?
        /// The application protocol agreed on by ALPN; nil when there was none.
        public var applicationProtocol: String?
    }

    /// The method, such as `"GET"`.
    public let method: String
    /// The request target, exactly as it was sent.
    public let target: String
    /// The path of the target, without query, percent encoding untouched.
    public let path: String
    /// What follows the question mark; nil without one.
    public let query: String?
    /// `"1.0"`, `"1.1"` or `"2"`.
    public let httpVersion: String
    /// The header fields in order. On HTTP/2 `:authority` stands as `host`.
    public let headers: HeaderList
    /// The body received by the time of recording: all of it, unless the script answers before the body has come.
    public let body: [UInt8]
    /// The trailer fields.
    public let trailers: HeaderList
    /// The number of the connection: the first one a server accepts is 1.
    public let connectionID: Int
    /// The client's address.
    public let remoteAddress: String
    /// The HTTP/2 stream; nil on HTTP/1.
    public let streamID: Int?
    /// What TLS agreed on; nil on a plain connection.
    public let tls: TLSDetails?
    /// When the head of the request arrived.
    public let receivedAt: ContinuousClock.Instant

    let progress: Watched<RequestProgress>

    /// The first value of a header field, in any spelling.
    public subscript(name: String) -> String? { headers[name] }

    /// The body as text; invalid UTF-8 is replaced.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// Bytes of this response handed to the kernel so far: heads, framing and payload.
    ///
    /// Counted when a write has completed, never when it was begun. On HTTP/2 heads count by the length of their text.
    public var bytesSent: Int { progress.read(\.bytesSent) }

    /// Payload bytes of this response handed to the kernel so far.
    public var bodyBytesSent: Int { progress.read(\.bodyBytesSent) }

    /// Bytes of the request body received so far.
    public var bodyBytesReceived: Int { progress.read(\.bodyBytesReceived) }

    /// How the response ended; nil while it has not.
    public var ended: ResponseEnding? { progress.read(\.ending) }

    /// Waits for the end of the response. After it no counter moves.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    public func ending() async throws -> ResponseEnding {
        try await progress.wait { $0.ending }
    }

    /// Waits until that many bytes of the response's payload were handed to the kernel, or the response has ended.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    public func waitForBodyBytesSent(_ count: Int) async throws {
        try await progress.wait { $0.bodyBytesSent >= count || $0.ending != nil ? () : nil }
    }

    /// Waits until that many bytes of the request body were received, or the response has ended.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    public func waitForBodyBytesReceived(_ count: Int) async throws {
        try await progress.wait { $0.bodyBytesReceived >= count || $0.ending != nil ? () : nil }
    }
}
#endif
