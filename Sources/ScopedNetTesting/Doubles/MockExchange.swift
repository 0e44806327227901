public import FoundationEssentials
public import HTTPTypes
@_spi(Transport) public import ScopedNet
import SystemSupport

/// One attempt at a ``MockTransport``: what was asked, and the hand that answers it step by step.
///
/// Steps may be taken on any thread. They never overlap: one that comes while another thread is inside one is taken by that thread. What comes
/// after the end is ignored, as is a second head.
public final class MockExchange: Sendable {
    /// What the transport was given.
    @_spi(Transport) public let transfer: TransferRequest

    private struct State {
        var sink: (any TransferSink)?
        var steps: [@Sendable (DeliveryBatch) -> Void] = []
        var isStepping = false
        var isCancelled = false
        var isSuspended = false
        var isEnded = false
        var head: ResponseHead?
        var destination = BodyDestination.memoryPrefix(limit: 0)
        var body = Data()
        var count: Int64 = 0
        /// What a reader has not made room for yet.
        var waiting: [Data] = []
        var isPaused = false
        var ending: TransferResult?
        /// Of a reply that comes later.
        var timer: (any Cancellable)?
    }

    private let state: Lock<State>
    private let json: JSONCoding
    private let timing: any Timing

    init(_ transfer: TransferRequest, sink: any TransferSink) {
        let bound = sink as? any SessionBound
        let settings = bound?.session.configuration
        userInfo = bound?.userInfo ?? [:]
        self.transfer = transfer
        json = settings?.json ?? .standard
        timing = settings?.timing ?? SystemTiming()
        state = Lock(State(sink: sink))
    }

    private init(ended transfer: TransferRequest) {
        self.transfer = transfer
        userInfo = [:]
        json = .standard
        timing = SystemTiming()
        state = Lock(State(isEnded: true))
    }

    /// For a test that was cancelled while it waited for an exchange. All steps are ignored.
    static var ofNoRequest: MockExchange {
        MockExchange(ended: TransferRequest(url: .placeholder("none"), headers: .empty, options: TransferOptions()))
    }

    // MARK: What was asked

    /// `RequestOptions.userInfo` of the request.
    public let userInfo: [String: any Sendable]
    /// The transfer's identifier.
    @_spi(Transport) public var id: TransferID { transfer.id }
    /// The URL that is asked.
    public var url: String { transfer.url.string }
    /// Without query.
    public var path: String {
        let rest = url.dropFirst(transfer.url.scheme.count + 3).drop { $0 != "/" && $0 != "?" }
        let path = rest.prefix { $0 != "?" }
        return path.isEmpty ? "/" : String(path)
    }
    /// The method that is sent.
    public var method: HTTPRequest.Method { transfer.method }
    /// The fields that are sent.
    public var headers: HTTPFields { transfer.headers.fields }
    /// The body, where it is bytes; files and sequences are not read.
    public var body: Data? {
        if case .data(let data)? = transfer.body?.content { data } else { nil }
    }

    /// The library has asked to stop. See ``MockTransport/endsCancelled``.
    public var isCancelled: Bool { state.withLock { $0.isCancelled } }
    /// True while the library holds the transfer up.
    public var isSuspended: Bool { state.withLock { $0.isSuspended } }
    /// True once the transfer is over.
    public var isEnded: Bool { state.withLock { $0.isEnded } }

    func noteCancelled() { state.withLock { $0.isCancelled = true } }
    func noteSuspended(_ value: Bool) { state.withLock { $0.isSuspended = value } }

    // MARK: Steps

    /// Everything: head, body, end. At once, or after the reply's delay.
    public func respond(_ reply: MockReply) {
        guard reply.delay > .zero else { return respondNow(reply) }
        guard !isEnded else { return }
        let timer = timing.schedule(after: reply.delay) { [self] in respondNow(reply) }
        let superseded = state.withLock { state -> (any Cancellable)? in
            guard !state.isEnded else { return timer }
            defer { state.timer = timer }
            return state.timer
        }
        superseded?.cancel()
    }

    private func respondNow(_ reply: MockReply) {
        if let failure = reply.failure, !reply.failsAfterBody { return fail(failure) }
        switch reply.body(by: json) {
        case .failure(let error): finish(TransferResult(error: error))
        case .success(let body):
            var headers = reply.headers
            if headers[.contentLength] == nil { headers[.contentLength] = "\(body.count)" }
            receiveHead(status: reply.status, headers: headers)
            for piece in reply.pieces(of: body) { receive(piece) }
            if let failure = reply.failure { fail(failure) } else { finish() }
        }
    }

    /// Delivers the head of the response.
    public func receiveHead(status: Int = 200, headers: HTTPFields = [:]) {
        step { [self] batch in
            guard let sink = sink, state.withLock({ $0.head == nil }) else { return }
            let head = ResponseHead(status: status, headers: headers)
            state.withLock { $0.head = head }
            let destination = sink.transfer(id, didReceive: head, batch: batch)
            state.withLock { $0.destination = destination }
            connect(destination)
        }
    }

    /// Bytes of the body.
    public func receive(_ data: Data) {
        step { [self] batch in
            guard sink != nil else { return }
            let mustWait = state.withLock { state in
                if state.isPaused { state.waiting.append(data) }
                return state.isPaused
            }
            if !mustWait { take(data, batch) }
        }
    }

    /// Delivers a piece of the body as text.
    public func receive(_ text: String) { receive(Data(text.utf8)) }

    /// The counts of progress alone, without bytes.
    public func reportReceived(_ count: Int64, of total: Int64?) {
        step { [self] batch in sink?.transfer(id, didReceive: count, of: total, batch: batch) }
    }

    /// Tells the library how much of the request's body was sent.
    public func reportSent(_ count: Int64, of total: Int64?) {
        step { [self] batch in sink?.transfer(id, didSend: count, of: total, batch: batch) }
    }

    /// The response is complete.
    public func finish() {
        step { [self] batch in
            let (result, mustWait) = state.withLock { state -> (TransferResult, Bool) in
                let result = TransferResult(head: state.head, body: state.body, metrics: metrics(state))
                // After the reader has taken the rest.
                if !state.waiting.isEmpty { state.ending = result }
                return (result, !state.waiting.isEmpty)
            }
            if !mustWait { end(result, batch) }
        }
    }

    /// The transfer ends so.
    @_spi(Transport) public func finish(_ result: TransferResult) { step { [self] batch in end(result, batch) } }

    /// The transfer fails.
    public func fail(_ code: NetworkError.Code = .connectionLost) {
        step { [self] batch in
            let (head, cost) = state.withLock { ($0.head, metrics($0)) }
            let phase: NetworkError.Phase = head == nil ? .awaitingResponse : .receiving
            end(TransferResult(error: NetworkError(code, phase: phase, message: "scripted"), head: head, metrics: cost), batch)
        }
    }

    // MARK: Inside

    private var sink: (any TransferSink)? { state.withLock { $0.sink } }

    /// Takes a step now, or leaves it to whoever is inside one.
    private func step(_ work: @escaping @Sendable (DeliveryBatch) -> Void) {
        let isMine = state.withLock { state -> Bool in
            state.steps.append(work)
            defer { state.isStepping = true }
            return !state.isStepping
        }
        guard isMine else { return }
        while let next = nextStep() {
            let batch = DeliveryBatch()
            next(batch)
            batch.end()
        }
    }

    /// Returns when every step so far has been taken.
    func settle() async {
        await withCheckedContinuation { continuation in step { _ in continuation.resume() } }
    }

    private func nextStep() -> (@Sendable (DeliveryBatch) -> Void)? {
        state.withLock { state in
            guard !state.steps.isEmpty else {
                state.isStepping = false
                return nil
            }
            return state.steps.removeFirst()
        }
    }

    private func metrics(_ state: State) -> TransferMetrics {
        var metrics = TransferMetrics()
        metrics.bodyBytesReceived = state.count
        metrics.httpVersion = state.head == nil ? "" : "1.1"
        metrics.bodyBytesSent = Int64(body?.count ?? 0)
        return metrics
    }

    private func take(_ data: Data, _ batch: DeliveryBatch) {
        let (destination, total) = state.withLock { ($0.destination, $0.head?.contentLength) }
        switch destination {
        case .memory(let limit): guard collect(data, upTo: limit, batch) else { return }
        case .collected(let body, let limit):
            // Its bytes are the result's too, as those of a transfer are.
            guard collect(data, upTo: limit, batch) else { return }
            _ = data.withUnsafeBytes { body.append($0) }
        case .observed(let stream, let limit):
            guard data.withUnsafeBytes({ stream.offer($0) == .accepted }) else { return hold(data) }
            if let limit, !collect(data, upTo: limit, batch) { return }
        case .memoryPrefix(let limit, _): state.withLock { $0.body.append(data.prefix(max(0, limit - $0.body.count))) }
        case .file(let file):
            if let error = write(data, to: file) { return end(TransferResult(error: error), batch) }
        case .stream(let stream):
            let isTaken = data.withUnsafeBytes { stream.offer($0) == .accepted }
            guard isTaken else { return hold(data) }
        case .held(let held):
            guard let place = held.destination() else { return hold(data) }
            state.withLock { $0.destination = place }
            connect(place)
            return take(data, batch)
        }
        let count = state.withLock { state in
            state.count += Int64(data.count)
            return state.count
        }
        if transfer.wantsProgress { sink?.transfer(id, didReceive: count, of: total, batch: batch) }
    }

    /// - Returns: false for more than the limit, which ends the exchange.
    private func collect(_ data: Data, upTo limit: Int, _ batch: DeliveryBatch) -> Bool {
        let fits = state.withLock { state -> Bool in
            state.body.append(data)
            return state.body.count <= limit
        }
        if !fits {
            end(TransferResult(error: NetworkError(.bodyTooLarge, phase: .receiving, message: "more than \(limit) bytes")), batch)
        }
        return fits
    }

    private func write(_ data: Data, to file: FileSink) -> NetworkError? {
        let result = data.withUnsafeBytes { bytes -> Result<Void, NetworkError> in
            do throws(NetworkError) { return .success(try file.write(bytes)) } catch { return .failure(error) }
        }
        if case .failure(let error) = result { return error }
        return nil
    }

    /// Until there is room for it, or a place.
    private func hold(_ data: Data) {
        state.withLock { state in
            state.isPaused = true
            state.waiting.insert(data, at: 0)
        }
    }

    private func connect(_ destination: BodyDestination) {
        if case .held(let held) = destination { held.connect { [weak self] in self?.drained() } }
        switch destination {
        case .stream(let stream):
            stream.connect(drained: { [weak self] in self?.drained() }, abandoned: { [weak self] in self?.fail(.cancelled) })
        case .observed(let stream, _):
            stream.connect(drained: { [weak self] in self?.drained() }, abandoned: { [weak self] in self?.drained() })
        case .memory, .collected, .memoryPrefix, .file, .held: break
        }
    }

    /// The reader has caught up: what waited is offered again.
    private func drained() {
        step { [self] batch in
            let waiting = state.withLock { state in
                defer { state.waiting = [] }
                state.isPaused = false
                return state.waiting
            }
            for data in waiting {
                let isPaused = state.withLock { state in
                    if state.isPaused { state.waiting.append(data) }
                    return state.isPaused
                }
                if !isPaused { take(data, batch) }
            }
            let ending = state.withLock { state -> TransferResult? in
                guard state.waiting.isEmpty, var ending = state.ending else { return nil }
                // What has waited came behind the end.
                ending.body = state.body
                ending.metrics = metrics(state)
                return ending
            }
            if let ending { end(ending, batch) }
        }
    }

    private func end(_ result: TransferResult, _ batch: DeliveryBatch) {
        let (sink, destination, timer) = state.withLock { state in
            defer {
                state.sink = nil
                state.timer = nil
                state.isEnded = true
                state.waiting = []
            }
            return (state.sink, state.destination, state.timer)
        }
        timer?.cancel()
        guard let sink else { return }
        if let stream = destination.stream, result.error?.code != .cancelled { stream.finish(result.error) }
        sink.transfer(id, didFinishWith: result, batch: batch)
    }
}
