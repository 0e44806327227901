public import FoundationEssentials

/// A complete, accepted response and the value made of it. Immutable.
public struct Response<Value: Sendable>: Sendable {
    /// Where the response came from.
    public enum Source: Sendable, Hashable { case network }

    public let value: Value
    public let head: ResponseHead
    /// The decoded body bytes; empty for files and streams.
    public let body: Data
    /// One for each attempt and hop, in order; the last is this response's own.
    public let attempts: [TransferMetrics]
    /// The URL that answered, after redirects.
    public let url: String
    public let source: Source

    public var status: Int { head.status }
    public var metrics: TransferMetrics { attempts.last ?? TransferMetrics() }

    package init(value: Value, head: ResponseHead, body: Data, attempts: [TransferMetrics], url: String, source: Source = .network) {
        self.value = value
        self.head = head
        self.body = body
        self.attempts = attempts
        self.url = url
        self.source = source
    }
}
