#if TestServer
extension ScriptedResponse {
    /// 200 with a text.
    public static func ok(_ text: String = "") -> ScriptedResponse {
        ScriptedResponse(headers: ["Content-Type": "text/plain; charset=utf-8"], body: .bytes(Array(text.utf8)))
    }

    /// 200 with any body.
    public static func ok(_ body: Body) -> ScriptedResponse {
        ScriptedResponse(body: body)
    }

    /// 200 with a JSON text.
    public static func json(_ text: String) -> ScriptedResponse {
        ScriptedResponse(headers: ["Content-Type": "application/json"], body: .bytes(Array(text.utf8)))
    }

    /// A status with an empty body.
    public static func status(_ status: Int) -> ScriptedResponse {
        ScriptedResponse(status: status)
    }

    /// A redirect to another location.
    public static func redirect(to location: String, status: Int = 302) -> ScriptedResponse {
        ScriptedResponse(status: status, headers: ["Location": location])
    }

    /// A file, with range requests.
    public static func file(_ path: String) -> ScriptedResponse {
        ScriptedResponse(headers: ["Content-Type": "application/octet-stream"], body: .file(path))
    }

    /// No answer: the connection closes. On HTTP/2 the stream is refused.
    public static var failing: ScriptedResponse {
        var response = ScriptedResponse.status(200).ending(.hangUp)
        response.http2ErrorCode = 7
        return response
    }

    /// A text that drips.
    public static func slow(_ text: String, bytes: Int = 1, every interval: Duration) -> ScriptedResponse {
        .ok(text).paced(bytes: bytes, every: interval)
    }

    /// These exact bytes on the wire in place of a response, then the connection closes: after all of them, or at a byte.
    ///
    /// Nothing announces that it closes unless the bytes do: a client that keeps it for its next request loses it then. Bytes that say
    /// themselves where they end leave it open with `.raw(bytes).ending(.keepAlive)`.
    ///
    /// HTTP/1 only; an HTTP/2 stream is reset. Stall and pace apply, counted in these bytes.
    public static func raw(_ bytes: [UInt8], closeAfter: Int? = nil) -> ScriptedResponse {
        var response = ScriptedResponse(body: .bytes(bytes))
        response.isRaw = true
        response.end = closeAfter.map { .truncate(afterBytes: $0) } ?? .close
        return response
    }

    /// The same, from text: write line ends as `\r\n`.
    public static func raw(_ text: String, closeAfter: Int? = nil) -> ScriptedResponse {
        .raw(Array(text.utf8), closeAfter: closeAfter)
    }

    /// The response with one more header field.
    public func header(_ name: String, _ value: String) -> ScriptedResponse {
        with { $0.headers.append(name, value) }
    }

    /// The response with another framing.
    public func framed(_ framing: Framing) -> ScriptedResponse {
        with { $0.framing = framing }
    }

    /// The response with its payload in pieces.
    public func paced(bytes: Int, every interval: Duration) -> ScriptedResponse {
        with { $0.pace = Pace(bytes: bytes, every: interval) }
    }

    /// The response with a point at which it stands still.
    public func stalling(_ stall: Stall) -> ScriptedResponse {
        with { $0.stall = stall }
    }

    /// The response with a pause before its head.
    public func delayed(by delay: Duration) -> ScriptedResponse {
        with { $0.delay = delay }
    }

    /// The response with another end.
    public func ending(_ end: End) -> ScriptedResponse {
        with { $0.end = end }
    }

    /// The response with something changed.
    public func with(_ change: (inout ScriptedResponse) -> Void) -> ScriptedResponse {
        var copy = self
        change(&copy)
        return copy
    }
}
#endif
