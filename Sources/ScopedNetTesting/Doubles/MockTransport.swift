@_spi(Transport) public import ScopedNet

/// A transport without a network, behind the same doorway as the real one: what is not scripted waits for the test's hand.
///
/// ```swift
/// let transport = MockTransport()
/// transport.on("/posts", .json("[]"))
/// let session = Session(configuration: .init(customTransport: transport, agent: RequestAgent()))
/// ```
///
/// An answer is looked up in this order: replies queued with ``enqueue(_:)``, routes, the closure given at initialization. An exchange without
/// an answer stands still until the test takes its steps:
///
/// ```swift
/// let exchange = await transport.exchange(0)
/// exchange.receiveHead()
/// exchange.receive("half of it")
/// exchange.fail(.connectionLost)
/// ```
public final class MockTransport: Sendable {
    private struct State {
        var exchanges: [MockExchange] = []
        var cancellations: [TransferID] = []
        var queue: [MockReply] = []
        /// By the bytes of the place: strings that only look alike are equal.
        var routes: [[UInt8]: MockReply] = [:]
        var isShutDown = false
    }

    private let state = Lock(State())
    private let waiters = CountWaiters()
    private let answer: (@Sendable (MockExchange) -> MockReply?)?
    /// A cancelled transfer ends at once, as a real one does within a turn of its loop. Otherwise the test ends it.
    public let endsCancelled: Bool

    /// Makes a transport. `answer` is asked for each exchange that neither queue nor routes know, on the starting thread; nil leaves it to the test.
    public init(endsCancelled: Bool = true, _ answer: (@Sendable (MockExchange) -> MockReply?)? = nil) {
        self.endsCancelled = endsCancelled
        self.answer = answer
    }

    // MARK: The script

    /// Answers the next exchange without an answer of its own, once.
    public func enqueue(_ reply: MockReply) { state.withLock { $0.queue.append(reply) } }

    /// Answers every request for a path (`/posts`, query left out) or a whole URL.
    public func on(_ place: String, _ reply: MockReply) { state.withLock { $0.routes[Array(place.utf8)] = reply } }

    // MARK: The evidence

    /// Every attempt, in order.
    public var exchanges: [MockExchange] { state.withLock { $0.exchanges } }
    /// Every cancel the library asked for, in order, idle ones too.
    @_spi(Transport) public var cancellations: [TransferID] { state.withLock { $0.cancellations } }

    /// The exchange of this number, counted from 0; waits for it.
    ///
    /// - Returns: when the task is cancelled before, an exchange of no request, which has ended.
    public func exchange(_ number: Int) async -> MockExchange {
        await waitForExchanges(number + 1)
        return state.withLock { $0.exchanges.indices.contains(number) ? $0.exchanges[number] : nil } ?? .ofNoRequest
    }

    /// Waits until so many were started, or the task is cancelled.
    public func waitForExchanges(_ count: Int) async {
        await waiters.wait(for: count) { [self] in state.withLock { $0.exchanges.count } }
    }

    // MARK: The doorway

    /// Takes a transfer of the library.
    @_spi(Transport) public func start(_ transfer: TransferRequest, sink: any TransferSink) {
        let exchange = MockExchange(transfer, sink: sink)
        let (count, isShutDown) = state.withLock { state in
            state.exchanges.append(exchange)
            return (state.exchanges.count, state.isShutDown)
        }
        // Never from within: the sink is called on another thread.
        if isShutDown {
            WorkPool.shared.submit([{ exchange.fail(.shutdown) }])
        } else if let reply = reply(to: exchange) {
            WorkPool.shared.submit([{ exchange.respond(reply) }])
        }
        waiters.wake(count)
    }

    private func reply(to exchange: MockExchange) -> MockReply? {
        let url = exchange.url
        let path = exchange.path
        let scripted = state.withLock { state -> MockReply? in
            if !state.queue.isEmpty { return state.queue.removeFirst() }
            return state.routes[Array(url.utf8)] ?? state.routes[Array(path.utf8)]
        }
        return scripted ?? answer?(exchange)
    }

    /// Ends a transfer for the library.
    @_spi(Transport) public func cancel(_ id: TransferID) {
        let exchange = state.withLock { state in
            state.cancellations.append(id)
            return state.exchanges.first { $0.id == id }
        }
        guard let exchange else { return }
        exchange.noteCancelled()
        if endsCancelled { WorkPool.shared.submit([{ exchange.fail(.cancelled) }]) }
    }

    /// Called before the next suspension takes effect.
    package let onSuspend = Lock<(@Sendable () -> Void)?>(nil)

    /// Holds a transfer up.
    @_spi(Transport) public func suspend(_ id: TransferID) {
        let first = onSuspend.withLock { action in
            defer { action = nil }
            return action
        }
        first?()
        exchanges.first { $0.id == id }?.noteSuspended(true)
    }

    /// Lets a transfer go on.
    @_spi(Transport) public func resume(_ id: TransferID) { exchanges.first { $0.id == id }?.noteSuspended(false) }

    /// Ends everything with ``NetworkError/Code/shutdown``, also what is started later. Returns when the end of each that was
    /// started before has been told; one that is started meanwhile ends soon after.
    public func shutdown() async {
        let open = state.withLock { state in
            state.isShutDown = true
            return state.exchanges
        }
        for exchange in open { exchange.fail(.shutdown) }
        // A cancel may be ending one of them on another thread.
        for exchange in open { await exchange.settle() }
    }
}

@_spi(Transport) extension MockTransport: Transport {}
