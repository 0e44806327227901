#if TestServer
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization

/// Who an exchange belongs to: a connection on HTTP/1, a stream on HTTP/2.
protocol ExchangeOwner: AnyObject {
    func exchangeEnded(_ exchange: Exchange, keepsConnection: Bool)
}

/// One request and its response, from the head of the one to the last byte of the other. Event loop only.
///
/// In order: ``received(_:)`` the body, ``receivedEnd(_:)``, ``takeTurn()`` when it may answer, and ``end(_:keepsConnection:)``
/// exactly once, by whoever comes first: the driver, the client, or the server's stop.
final class Exchange {
    private let head: HTTPRequestHead
    private let path: String
    private let connection: ConnectionInfo
    private let streamID: Int?
    private let core: ServerCore
    private let eventLoop: any EventLoop
    private let writer: any ResponseWriter
    private weak var owner: (any ExchangeOwner)?

    private let answer: Script.Answer
    private let receivedAt = ContinuousClock.now
    private let progress = Watched(RequestProgress())
    private var body: [UInt8] = []
    private var trailers: HeaderList = [:]
    private var record: RecordedRequest?

    private var isReady = false
    private var hasTurn = false
    private var hasBegun = false
    private(set) var hasEnded = false
    private(set) var hasReceivedAll = false
    private var driver: ResponseDriver?
    private var handlerTask: Task<Void, Never>?

    init(
        _ head: HTTPRequestHead, streamID: Int?, connection: ConnectionInfo, writer: any ResponseWriter,
        owner: any ExchangeOwner, core: ServerCore, eventLoop: any EventLoop
    ) {
        self.head = head
        self.path = RequestTarget(head.uri).path
        self.streamID = streamID
        self.connection = connection
        self.writer = writer
        self.owner = owner
        self.core = core
        self.eventLoop = eventLoop
        self.answer = core.script.withLock { [path] script in
            if let challenge = script.challenge(for: path),
                !challenge.accepts(head.headers.first(name: "authorization"), method: head.method.rawValue, target: head.uri)
            {
                return .response(PreparedResponse(challenge.refusal))
            }
            return script.answer(for: path)
        }
        core.ledger.update { $0.requestBegan() }
    }

    // MARK: The request

    /// Decides what to do about the body, now that the head is here.
    func begin() {
        switch requestBody {
        case .receive:
            if head.headers["expect"].contains(where: { $0.equalsIgnoringCase("100-continue") }) { sendContinue() }
        case .receiveWhileAnswering:
            becomeReady()
        case .leaveUnread:
            writer.stopReading()
            becomeReady()
        }
    }

    func received(_ bytes: ByteBuffer) {
        guard !hasEnded, requestBody != .leaveUnread else { return }
        progress.update { $0.bodyBytesReceived += bytes.readableBytes }
        if record == nil, needsRecord {
            body.append(contentsOf: bytes.readableBytesView.prefix(max(0, core.recordedBodyLimit - body.count)))
        }
    }

    func receivedEnd(_ trailers: HTTPHeaders?) {
        hasReceivedAll = true
        guard !hasEnded else { return }
        if let trailers { self.trailers = HeaderList(trailers) }
        becomeReady()
    }

    // MARK: The response

    /// The responses before this one are through.
    func takeTurn() {
        hasTurn = true
        answerWhenReady()
    }

    func sent(_ written: WrittenBytes) {
        core.ledger.update { $0.sent(written.total) }
        guard !hasEnded else { return }
        progress.update {
            $0.bytesSent += written.total
            $0.bodyBytesSent += written.body
        }
    }

    /// The client has gone, or the server is going.
    func lose(_ ending: ResponseEnding) {
        guard !hasEnded else { return }
        recordRequest()
        let ending = core.ledger.read(\.isStopping) ? .serverStopped : ending
        if let driver, driver.isFinishing {
            driver.finish(ifWriteFails: ending)
        } else {
            end(ending, keepsConnection: false)
        }
    }

    func end(_ ending: ResponseEnding, keepsConnection: Bool) {
        guard !hasEnded else { return }
        hasEnded = true
        driver?.cancel()
        driver = nil
        handlerTask?.cancel()
        handlerTask = nil
        // The server's counts first: whoever waits for the ending finds them settled.
        core.ledger.update { $0.requestEnded() }
        progress.update { $0.ending = ending }
        owner?.exchangeEnded(self, keepsConnection: keepsConnection)
    }

    private func becomeReady() {
        guard !isReady else { return }
        isReady = true
        recordRequest()
        answerWhenReady()
    }

    private func answerWhenReady() {
        guard isReady, hasTurn, !hasBegun, !hasEnded else { return }
        hasBegun = true
        switch answer {
        case .response(let prepared): send(prepared)
        case .handler(let handler): ask(handler)
        }
    }

    private func ask(_ handler: @escaping Script.Handler) {
        let exchange = NIOLoopBound(self, eventLoop: eventLoop)
        let request = record ?? makeRecord()
        handlerTask = Task { [eventLoop] in
            let response = await handler(request)
            // Cancelled: the client has gone, and on the server's stop the event loop will be gone too.
            if !Task.isCancelled { eventLoop.execute { exchange.value.send(PreparedResponse(response)) } }
        }
    }

    private func send(_ prepared: PreparedResponse) {
        guard !hasEnded else { return }
        if let bytes = prepared.wireBytes, let writer = writer as? HTTP1Writer, isPlainRequest {
            sendAtOnce(bytes, bodyLength: prepared.bodyLength, writer: writer)
            return
        }
        let driver = ResponseDriver(
            prepared.response, request: planRequest, writer: writer, exchange: self, core: core, eventLoop: eventLoop)
        self.driver = driver
        driver.start()
    }

    /// The short way of a route whose bytes are known: one write, no plan.
    private func sendAtOnce(_ bytes: ByteBuffer, bodyLength: Int, writer: HTTP1Writer) {
        writer.writePrepared(bytes, bodyLength: bodyLength)
        writer.flush { [self] result in
            guard case .success(let written) = result else { return }
            sent(written)
            end(.completed, keepsConnection: true)
        }
    }

    private func sendContinue() {
        writer.writeInterimHead(ResponseHead(status: 100, headers: [:]))
        writer.flush { [self] result in
            if case .success(let written) = result { sent(written) }
        }
    }

    // MARK: What the request asks for

    var leavesRequestUnread: Bool { requestBody == .leaveUnread }

    private var requestBody: ScriptedResponse.RequestBody {
        if case .response(let prepared) = answer { prepared.response.requestBody } else { .receive }
    }

    private var isPlainRequest: Bool {
        head.version == .http1_1 && head.method != .HEAD && keepsAlive
    }

    private var keepsAlive: Bool {
        // After CONNECT or an upgrade the parser takes what follows for another protocol, which is not spoken here.
        head.isKeepAlive && head.method != .CONNECT && !head.headers.contains(name: "upgrade")
    }

    private var planRequest: ResponsePlan.Request {
        ResponsePlan.Request(
            method: head.method.rawValue,
            version: streamID != nil ? .http2 : head.version.minor == 0 ? .http10 : .http11,
            keepsAlive: streamID != nil || keepsAlive,
            range: head.headers.first(name: "range"),
            ifRange: head.headers.first(name: "if-range"),
            ifNoneMatch: head.headers.first(name: "if-none-match"),
            ifMatch: head.headers.first(name: "if-match")
        )
    }

    // MARK: Evidence

    private var needsRecord: Bool {
        if core.recordsRequests { return true }
        if case .handler = answer { return true }
        return false
    }

    private func recordRequest() {
        guard record == nil, needsRecord else { return }
        let request = makeRecord()
        record = request
        body = []
        if core.recordsRequests { core.ledger.update { $0.record(request) } }
    }

    private func makeRecord() -> RecordedRequest {
        RecordedRequest(
            head, streamID: streamID, connection: connection, body: body, trailers: trailers, receivedAt: receivedAt,
            progress: progress)
    }
}
#endif
