#if TestServer
/// A script applied to one request: the steps to take, decided before the first byte (pure).
struct ResponsePlan: Sendable {
    /// What the plan needs to know of the request.
    struct Request: Sendable {
        var method: String
        var version: Version
        var keepsAlive: Bool
        var range: String?
        var ifRange: String?
        var ifNoneMatch: String?
        var ifMatch: String?

        static let plainGet = Request(method: "GET", version: .http11, keepsAlive: true)
    }

    enum Version: Sendable { case http10, http11, http2 }

    private(set) var steps: [ResponseStep] = []
    /// The part of the body that is sent, in bytes of the whole; nil sends all.
    private(set) var bodyRange: Range<Int>?
    private(set) var isChunked = false
    private(set) var keepsConnection: Bool

    private let script: ScriptedResponse
    private let request: Request

    init(_ script: ScriptedResponse, body: OpenedBody, request: Request) {
        self.script = script
        self.request = request
        self.keepsConnection =
            request.keepsAlive && script.end == .keepAlive && script.requestBody != .leaveUnread
        if script.isRaw {
            planRaw()
        } else {
            planResponse(body)
        }
    }

    private mutating func planRaw() {
        planWaits()
        if request.version == .http2 || script.end == .hangUp {
            steps.append(.cut(.close))
        } else {
            planPayload()
        }
    }

    private mutating func planResponse(_ body: OpenedBody) {
        if script.end == .hangUp {
            planWaits()
            steps.append(.cut(.close))
            return
        }
        for interim in script.interimHeads {
            steps.append(.interimHead(ResponseHead(status: interim.status, reason: nil, headers: interim.headers)))
        }
        planWaits()

        var head = ResponseHead(status: script.status, reason: script.reason, headers: script.headers)
        let length = selectRange(of: body, head: &head)
        let sendsBody = request.method != "HEAD" && head.status != 204 && head.status != 304 && head.status >= 200
        frame(&head, length: length, sendsBody: sendsBody)
        steps.append(.head(head))
        if sendsBody {
            planPayload()
        } else {
            planEmptyPayload()
        }
    }

    private mutating func planWaits() {
        if script.delay > .zero { steps.append(.pause(script.delay)) }
        if script.stall == .beforeHead { steps.append(.stall) }
    }

    /// Puts the stall and the cut, each counted in payload bytes, where they belong: whichever comes first, first.
    private mutating func planPayload() {
        var position = 0
        let stallsAt = script.stallPosition
        let cut = script.cut
        if let stallsAt, cut == nil || stallsAt <= cut?.position ?? 0 {
            if stallsAt > 0 { steps.append(.body(stallsAt)) }
            steps.append(.stall)
            position = stallsAt
        }
        if let cut {
            if cut.position > position { steps.append(.body(cut.position - position)) }
            steps.append(.cut(cut.kind))
        } else {
            steps.append(.body(nil))
            steps.append(.finish(script.trailers))
        }
    }

    private mutating func planEmptyPayload() {
        if script.stallPosition == 0 { steps.append(.stall) }
        if let cut = script.cut {
            steps.append(.cut(cut.kind))
        } else {
            steps.append(.finish([:]))
        }
    }

    /// Turns 200 into 206, 304 or 416 where the request asks for it, and returns the length of what is sent.
    private mutating func selectRange(of body: OpenedBody, head: inout ResponseHead) -> Int? {
        if body.isMissing {
            head.status = 404
            head.reason = nil
            return 0
        }
        guard head.status == 200 else { return body.count }
        if let entityTag = body.entityTag, head.headers["ETag"] == nil { head.headers.append("ETag", entityTag) }
        if let date = body.lastModified, head.headers["Last-Modified"] == nil {
            head.headers.append("Last-Modified", date)
        }
        guard let count = body.count, body.isFile || script.acceptsRanges else { return body.count }
        if head.headers["Accept-Ranges"] == nil { head.headers.append("Accept-Ranges", "bytes") }

        if let wanted = request.ifMatch, !EntityTags(wanted).contains(head.headers["ETag"]) {
            head.status = 412
            bodyRange = 0..<0
            return 0
        }
        if let known = request.ifNoneMatch, EntityTags(known).contains(head.headers["ETag"]) {
            head.status = 304
            return count
        }
        // A range is for the representation the client knows; when it has changed, the whole is sent (RFC 9110, 13.1.5).
        if let validator = request.ifRange,
            validator != head.headers["ETag"], validator != head.headers["Last-Modified"]
        {
            return count
        }
        guard request.method == "GET", let range = request.range else { return count }
        switch ByteRange(header: range).resolve(in: count) {
        case .whole:
            return count
        case .part(let part):
            head.status = 206
            head.headers.append("Content-Range", "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(count)")
            bodyRange = part
            return part.count
        case .unsatisfiable:
            head.status = 416
            head.headers.append("Content-Range", "bytes */\(count)")
            bodyRange = 0..<0
            return 0
        }
    }

    /// Adds the fields that say where the payload ends. What the script spells out itself is left alone.
    private mutating func frame(_ head: inout ResponseHead, length: Int?, sendsBody: Bool) {
        let isScripted = head.headers["Content-Length"] != nil || head.headers["Transfer-Encoding"] != nil
        let mayHaveBody = head.status >= 200 && head.status != 204
        if !isScripted, mayHaveBody {
            switch framing(length: length) {
            case .contentLength:
                head.headers.append("Content-Length", String(length ?? 0))
            case .declaredLength(let declared):
                head.headers.append("Content-Length", String(declared))
            case .chunked where request.version == .http11:
                head.headers.append("Transfer-Encoding", "chunked")
                isChunked = sendsBody
            case .chunked, .untilClose:
                if request.version != .http2, sendsBody { keepsConnection = false }
            }
        }
        guard request.version != .http2, head.headers["Connection"] == nil else { return }
        if !keepsConnection {
            head.headers.append("Connection", "close")
        } else if request.version == .http10 {
            head.headers.append("Connection", "keep-alive")
        }
    }

    private func framing(length: Int?) -> ScriptedResponse.Framing {
        guard script.framing == .contentLength, length == nil || !script.trailers.isEmpty else { return script.framing }
        return .chunked
    }
}

extension ScriptedResponse {
    fileprivate var stallPosition: Int? {
        switch stall {
        case .afterHead: 0
        case .afterBytes(let count): max(0, count)
        case .beforeHead, nil: nil
        }
    }

    fileprivate var cut: (position: Int, kind: ResponseStep.Cut)? {
        switch end {
        case .truncate(let count): (max(0, count), .close)
        case .reset(let count): (max(0, count), .reset)
        case .closeWithoutNotify(let count): (max(0, count), .closeWithoutNotify)
        case .keepAlive, .close, .hangUp: nil
        }
    }
}
#endif
