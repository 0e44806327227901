#if TestServer
internal import NIOCore

/// A response, and its bytes on an HTTP/1.1 connection where they are the same for every request.
///
/// A route prepares its bytes once, so that a benchmark measures the client and not this server.
struct PreparedResponse: Sendable {
    /// Larger bodies are sent in pieces, so that bytes are counted as they go.
    private static let largestBody = 64 * 1024

    let response: ScriptedResponse
    /// Head and body for a client that keeps the connection open; nil where the response needs more than one write.
    let wireBytes: ByteBuffer?
    let bodyLength: Int

    init(_ response: ScriptedResponse) {
        self.response = response
        self.wireBytes = nil
        self.bodyLength = 0
    }

    init(preparing response: ScriptedResponse) {
        self.response = response
        guard response.isPlain, case .bytes(let body) = response.body, body.count <= Self.largestBody else {
            self.wireBytes = nil
            self.bodyLength = 0
            return
        }
        let plan = ResponsePlan(response, body: OpenedBody(count: body.count), request: .plainGet)
        var bytes = ByteBuffer()
        for case .head(let head) in plan.steps { bytes.writeHTTP1Head(head) }
        let sendsBody = plan.steps.contains { if case .body = $0 { true } else { false } }
        if sendsBody { bytes.writeBytes(body) }
        self.wireBytes = bytes
        self.bodyLength = sendsBody ? body.count : 0
    }
}

extension ScriptedResponse {
    /// Nothing but a head and a body of known length, with the connection kept open.
    fileprivate var isPlain: Bool {
        !isRaw && framing == .contentLength && pace == nil && headPace == nil && stall == nil && delay == .zero && end == .keepAlive
            && requestBody == .receive && !acceptsRanges && trailers.isEmpty && interimHeads.isEmpty
    }
}
#endif
