public import HTTPTypes
@_spi(Transport) public import ScopedNet
package import SystemSupport

/// A transport without a network: it answers requests by routes, and is used in place of the real one.
///
/// ```swift
/// let hn = MockTransport.session("http://hn.test/v0/")
/// hn.mock.on(.get, "topstories", .json(stories))
/// hn.mock.on(.get, "flaky", [.status(503).retryAfter(5), .json(stories)])
/// ```
///
/// An answer is looked up in this order: replies queued with ``enqueue(_:)``, routes, the closure given at initialization. A request without an
/// answer fails at once, with an error that names it and lists the routes. With ``Unanswered/wait`` it stands still instead, until the test takes
/// its steps:
///
/// ```swift
/// let transport = MockTransport(unanswered: .wait)
/// let exchange = await transport.exchange(0)
/// exchange.receiveHead()
/// exchange.receive("half of it")
/// exchange.fail(.connectionLost)
/// ```
public final class MockTransport: Sendable {
    /// The fate of a request that nothing answers.
    public enum Unanswered: Sendable {
        /// It fails with `other`, which no retry policy repeats, and is listed in ``MockTransport/unansweredRequests``.
        case fail
        /// It stands still until the test answers its ``MockExchange``, or it is cancelled.
        case wait
    }

    private struct State {
        var exchanges: [MockExchange] = []
        var channels: [MockChannel] = []
        /// The error of channels that are opened from now on.
        var channelFailure: NetworkError.Code?
        var cancellations: [TransferID] = []
        var queue: [MockReply] = []
        var routes = MockRoutes()
        /// By the types of endpoints.
        var stubs: [ObjectIdentifier: @Sendable (any Sendable) -> MockReply?] = [:]
        var unanswered: [String] = []
        var isShutDown = false
    }

    private let state = Lock(State())
    private let waiters = CountWaiters()
    private let channelWaiters = CountWaiters()
    private let answer: (@Sendable (MockExchange) -> MockReply?)?
    private let fate: Unanswered
    /// A cancelled transfer ends at once, as a real one does within a turn of its loop. Otherwise the test ends it.
    public let endsCancelled: Bool

    /// Makes a transport.
    ///
    /// - Parameters:
    ///   - unanswered: the fate of a request without an answer. Default: it fails.
    ///   - endsCancelled: true where a cancelled transfer ends at once.
    ///   - answer: asked for each exchange that neither queue nor routes know, on the starting thread; nil where it has no answer either.
    public init(
        unanswered: Unanswered = .fail, endsCancelled: Bool = true, _ answer: (@Sendable (MockExchange) -> MockReply?)? = nil
    ) {
        fate = unanswered
        self.endsCancelled = endsCancelled
        self.answer = answer
    }

    // MARK: The script

    /// Answers the next exchange, once.
    public func enqueue(_ reply: MockReply) { state.withLock { $0.queue.append(reply) } }

    /// Answers every request for a place, by any method; see ``on(_:_:_:)-(_,_,[MockReply])``.
    public func on(_ place: String, _ reply: MockReply) { add(nil, place, .replies([reply])) }

    /// Answers the requests for a place, by any method, one after the other; see ``on(_:_:_:)-(_,_,[MockReply])``.
    public func on(_ place: String, _ replies: [MockReply]) { add(nil, place, .replies(replies)) }

    /// Answers the requests for a place, by any method, by a closure, called on the starting thread.
    public func on(_ place: String, _ reply: @escaping @Sendable (MockExchange) -> MockReply) { add(nil, place, .closure(reply)) }

    /// Answers every request of a method for a place; see ``on(_:_:_:)-(_,_,[MockReply])``.
    public func on(_ method: HTTPRequest.Method, _ place: String, _ reply: MockReply) { add(method, place, .replies([reply])) }

    /// Answers the requests of a method for a place, one after the other; the last reply answers all that follow.
    ///
    /// A place is relative to the base URL of the session that asks (`topstories`; to the server where it has none), a path (`/v0/topstories`), or a
    /// whole URL. With a query it stands for that query alone, without one for every query. Where several routes fit, one with a query comes first,
    /// then a whole URL, then one with a method, then the one that was added last. A route replaces the one of the same method and place.
    ///
    /// An empty list of replies removes the route.
    public func on(_ method: HTTPRequest.Method, _ place: String, _ replies: [MockReply]) { add(method, place, .replies(replies)) }

    /// Answers the requests of a method for a place by a closure, called on the starting thread.
    public func on(_ method: HTTPRequest.Method, _ place: String, _ reply: @escaping @Sendable (MockExchange) -> MockReply) {
        add(method, place, .closure(reply))
    }

    private func add(_ method: HTTPRequest.Method?, _ place: String, _ answer: MockRoutes.Answer) {
        let replaced = state.withLock { $0.routes.add(method, place, answer) }
        // Let go of outside the lock: a closure may hold anything.
        _ = replaced
    }

    /// `GET http://…`, secrets masked: what was asked for and found no answer, in order.
    public var unansweredRequests: [String] { state.withLock { $0.unanswered } }

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

    // MARK: Channels

    /// Fails channels that are opened from now on; nil has them opened, which is the default.
    public func refuseChannels(with code: NetworkError.Code?) { state.withLock { $0.channelFailure = code } }

    /// The other side of the channel of this number, counted from 0; waits for it.
    ///
    /// - Returns: when the task is cancelled before, one of nobody, which has ended.
    public func channel(_ number: Int) async -> MockChannel {
        await channelWaiters.wait(for: number + 1) { [self] in state.withLock { $0.channels.count } }
        return state.withLock { $0.channels.indices.contains(number) ? $0.channels[number] : nil } ?? .ofNobody
    }

    /// Takes a channel of the library.
    @_spi(Transport) public func open(_ transfer: TransferRequest, sink: any TransferSink) {
        let channel = MockChannel(transfer, sink: sink)
        let (count, failure) = state.withLock { state in
            state.channels.append(channel)
            return (state.channels.count, state.isShutDown ? .shutdown : state.channelFailure)
        }
        WorkPool.shared.submit([{ if let failure { channel.fail(failure) } else { channel.open() } }])
        channelWaiters.wake(count)
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
        } else if let reply = reply(to: exchange, base: (sink as? any SessionBound)?.session.configuration.baseURL) {
            WorkPool.shared.submit([{ exchange.respond(reply) }])
        } else if fate == .fail {
            let error = refusal(of: exchange)
            WorkPool.shared.submit([{ exchange.finish(TransferResult(error: error)) }])
        }
        waiters.wake(count)
    }

    private func reply(to exchange: MockExchange, base: String?) -> MockReply? {
        let (queued, routes) = state.withLock { state in
            (state.queue.isEmpty ? nil : state.queue.removeFirst(), state.routes)
        }
        if let queued { return queued }
        if let stubbed = stubbedReply(to: exchange) { return stubbed }
        guard let route = routes.find(exchange.method, exchange.transfer.url, base: base) else { return answer?(exchange) }
        switch state.withLock({ $0.routes.take(route) }) {
        case .reply(let reply): return reply
        case .closure(let closure): return closure(exchange)
        // Removed meanwhile.
        case nil: return answer?(exchange)
        }
    }

    /// Sets the reply to endpoints of a type; nil takes it away.
    func setStub(_ type: Any.Type, _ reply: (@Sendable (any Sendable) -> MockReply?)?) {
        // The old one is let go outside the lock.
        let old = state.withLock { state in
            defer { state.stubs[ObjectIdentifier(type)] = reply }
            return state.stubs[ObjectIdentifier(type)]
        }
        withExtendedLifetime(old) {}
    }

    private func stubbedReply(to exchange: MockExchange) -> MockReply? {
        guard let endpoint = exchange.endpoint else { return nil }
        return state.withLock { $0.stubs[ObjectIdentifier(type(of: endpoint))] }?(endpoint)
    }

    private func refusal(of exchange: MockExchange) -> NetworkError {
        let request = "\(exchange.method.rawValue) \(SecretMask().maskedURL(exchange.transfer.url.description))"
        let routes = state.withLock { state in
            state.unanswered.append(request)
            return state.routes
        }
        return NetworkError(.other, phase: .connecting, message: "no answer for \(request); \(routes.summary)")
    }

    /// Ends a transfer for the library.
    @_spi(Transport) public func cancel(_ id: TransferID) {
        let (exchange, channel) = state.withLock { state in
            state.cancellations.append(id)
            return (state.exchanges.first { $0.id == id }, state.channels.first { $0.id == id })
        }
        channel?.fail(.cancelled)
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
        let (open, channels) = state.withLock { state in
            state.isShutDown = true
            return (state.exchanges, state.channels)
        }
        for channel in channels { channel.fail(.shutdown) }
        for exchange in open { exchange.fail(.shutdown) }
        // A cancel may be ending one of them on another thread.
        for exchange in open { await exchange.settle() }
        for channel in channels { await channel.settle() }
    }
}

@_spi(Transport) extension MockTransport: Transport {}
