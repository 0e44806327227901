public import FoundationEssentials
public import HTTPTypes

/// A response as an ``Interceptor`` sees, changes or makes it.
public struct InterceptedResponse: Sendable {
    /// The body of a response.
    public enum Body: Sendable {
        /// In memory. Around the call its content coding is undone; around an exchange these are the bytes that came over the wire.
        case data(Data)
        /// The file of a download, of this many bytes, which gets its place once the response is accepted.
        case file(bytes: Int64)
        /// A stream that its reader gets while it arrives. What is changed of its response reaches nobody.
        case stream
    }

    /// Status and fields.
    public var head: ResponseHead
    /// The body. ``Body/data(_:)`` may take the place of a file's, not of a stream's.
    public var body: Body
    /// The source of the response.
    public let source: ResponseSource
    /// The measurements of the last exchange; nil for a response that no server sent.
    public let metrics: TransferMetrics?
    /// The exchange whose file or stream the body is; zero for a response that no server sent.
    let exchange: UInt64
    /// A status that is none; the run fails with it.
    let invalidStatus: Int?

    /// Makes a response without asking a server. With a status outside of 100 to 999 the run fails with `interceptorFailed`.
    ///
    /// It is not stored unless the interceptor stores it itself (``ResponseCache/store(_:headers:for:)``; see <doc:Interceptors>).
    public init(status: Int, headers: HTTPFields = [:], body: Data = Data()) {
        head = ResponseHead(status: status, headers: headers)
        self.body = .data(body)
        source = .interceptor
        metrics = nil
        exchange = 0
        invalidStatus = 100...999 ~= status ? nil : status
    }

    init(head: ResponseHead, body: Body, source: ResponseSource, metrics: TransferMetrics?, exchange: UInt64) {
        self.head = head
        self.body = body
        self.source = source
        self.metrics = metrics
        self.exchange = exchange
        invalidStatus = nil
    }

    /// The body in memory; empty for a file and a stream.
    public var data: Data { if case .data(let data) = body { data } else { Data() } }
}
