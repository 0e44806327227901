#if TestServer
internal import NIOCore

/// Works off the steps of one response. Event loop only.
///
/// It runs until a step has to wait (for a write, a timer, a stall's release, a stream) and goes on when that is over.
final class ResponseDriver {
    private enum Waiting { case nothing, flush, timer, release, feed, forever }

    private let plan: ResponsePlan
    private var source: BodySource
    private var steps: [ResponseStep]
    private let writer: any ResponseWriter
    private let core: ServerCore
    private let script: ScriptedResponse
    private let eventLoop: any EventLoop
    /// The exchange lets go of its driver when it ends: until then each keeps the other alive, however late a write completes.
    private let exchange: Exchange

    private var waiting = Waiting.nothing
    private var isRunning = false
    private var hasUnflushedWrites = false
    /// The last write is under way: whether the response is complete is now for it to say.
    private(set) var isFinishing = false
    private var endingIfWriteFails = ResponseEnding.clientClosed
    private var timer: Scheduled<Void>?
    private var stallID: Int?

    init(
        _ script: ScriptedResponse, request: ResponsePlan.Request, writer: any ResponseWriter, exchange: Exchange,
        core: ServerCore, eventLoop: any EventLoop
    ) {
        self.script = script
        self.source = BodySource(script.body, eventLoop: eventLoop)
        self.plan = ResponsePlan(script, body: source.opened, request: request)
        // Popped from the end.
        self.steps = plan.steps.reversed()
        self.writer = writer
        self.exchange = exchange
        self.core = core
        self.eventLoop = eventLoop
        if let range = plan.bodyRange { source.select(range) }
    }

    func start() {
        if script.end == .close, !script.isRaw { writer.announceClose() }
        source.feed?.start { [weak self] in self?.goOn(after: .feed) }
        run()
    }

    /// Nothing is written from here on.
    func cancel() {
        waiting = .forever
        steps = []
        timer?.cancel()
        source.feed?.stop()
        endStall()
    }

    /// The connection, or the stream, ended before the last write was reported. An HTTP/2 stream always does.
    func finish(ifWriteFails ending: ResponseEnding) {
        endingIfWriteFails = ending
    }

    private func goOn(after event: Waiting) {
        guard waiting == event else { return }
        waiting = .nothing
        run()
    }

    /// A write can complete while it is being made. The loop then goes on by itself: a large body does not fill the stack.
    private func run() {
        guard !isRunning else { return }
        isRunning = true
        defer { isRunning = false }
        while waiting == .nothing, let step = steps.popLast() { perform(step) }
    }

    private func perform(_ step: ResponseStep) {
        switch step {
        case .interimHead(let head):
            writer.writeInterimHead(head)
            flush()
        case .head(let head):
            if script.headPace != nil, let bytes = writer.beginHead(head, isChunked: plan.isChunked) {
                return steps.append(.headBytes(bytes))
            }
            writer.writeHead(head, isChunked: plan.isChunked)
            hasUnflushedWrites = true
        case .headBytes(let bytes):
            drip(bytes)
        case .body(let limit):
            sendBody(limit)
        case .finish(let trailers):
            writer.writeFinish(trailers)
            isFinishing = true
            flush { driver in driver.exchange.end(.completed, keepsConnection: driver.plan.keepsConnection) }
        case .pause, .stall, .cut:
            // What comes before these has to be on the wire when they begin.
            if hasUnflushedWrites {
                steps.append(step)
                flush()
            } else {
                performAlone(step)
            }
        }
    }

    private func performAlone(_ step: ResponseStep) {
        switch step {
        case .pause(let duration): pause(duration)
        case .stall: stall()
        case .cut(let cut): self.cut(cut)
        case .interimHead, .head, .headBytes, .body, .finish: break
        }
    }

    private func drip(_ bytes: [UInt8]) {
        let piece = bytes.prefix(script.headPace?.bytes ?? bytes.count)
        writer.writeHeadPiece(piece)
        hasUnflushedWrites = true
        guard piece.count < bytes.count, let pace = script.headPace else { return }
        steps.append(.headBytes(Array(bytes.dropFirst(piece.count))))
        steps.append(.pause(pace.interval))
    }

    private func sendBody(_ limit: Int?) {
        let pieceSize = min(script.pace?.bytes ?? .max, writer.pieceSize)
        switch source.next(atMost: min(limit ?? .max, pieceSize)) {
        case .end:
            break
        case .later:
            steps.append(.body(limit))
            if hasUnflushedWrites { flush() } else { waiting = .feed }
        case .bytes(let bytes):
            writer.writeBody(bytes)
            hasUnflushedWrites = true
            let rest = limit.map { $0 - bytes.readableBytes }
            // The last piece leaves together with the end of the response.
            if rest == 0 || source.isExhausted { return }
            steps.append(.body(rest))
            if let pace = script.pace { steps.append(.pause(pace.interval)) }
            flush()
        }
    }

    private func flush(then: ((ResponseDriver) -> Void)? = nil) {
        hasUnflushedWrites = false
        waiting = .flush
        writer.flush { [self] result in
            switch result {
            case .success(let written):
                exchange.sent(written)
                guard waiting == .flush else { return }
                then?(self)
                goOn(after: .flush)
            case .failure:
                writeFailed()
            }
        }
    }

    /// Usually the channel tells in a moment that it has closed, and why. When it does not, the response ends here.
    private func writeFailed() {
        guard waiting == .flush else { return }
        waiting = .forever
        eventLoop.assumeIsolated().execute { [self] in
            guard !exchange.hasEnded else { return }
            writer.cut(.close, errorCode: script.http2ErrorCode)
            exchange.end(endingIfWriteFails, keepsConnection: false)
        }
    }

    private func pause(_ duration: Duration) {
        waiting = .timer
        timer = eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(duration)) { [self] in goOn(after: .timer) }
    }

    private func stall() {
        waiting = .release
        let released = eventLoop.makePromise(of: Void.self)
        released.futureResult.assumeIsolated().whenComplete { [self] _ in
            endStall()
            goOn(after: .release)
        }
        stallID = core.stalls.add(released)
        core.ledger.update { $0.responseStalled() }
    }

    private func endStall() {
        guard let id = stallID else { return }
        stallID = nil
        core.ledger.update { $0.responseResumed() }
        core.stalls.release(id)
    }

    private func cut(_ cut: ResponseStep.Cut) {
        waiting = .forever
        // First the ending, then the closing: it would otherwise look as if the client had left.
        exchange.end(.cutByScript, keepsConnection: true)
        writer.cut(cut, errorCode: script.http2ErrorCode)
    }
}
#endif
