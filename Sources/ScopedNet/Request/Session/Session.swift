import HTTPTypes
import Synchronization
import SystemSupport

/// Makes requests and sends them: an immutable configuration, a transport and an agent.
///
/// Cheap to derive (``with(_:)``); derived sessions share thread, connections and agent unless TLS, proxy, network or limits differ. No shutdown is
/// needed: a session nobody uses goes away with its thread and sockets. ``shutdown(cancelling:)`` is there for daemons.
public final class Session: Sendable {
    /// The defaults, for programs that need nothing else.
    public static let shared = Census.unseen { Session() }

    /// The settings the session was made with. To change one, derive a session (``with(_:)``).
    public let configuration: Configuration
    /// The agent of the configuration, which retains the session's running requests.
    public var agent: RequestAgent { configuration.agent }

    package let link: TransportLink
    package let lane: DeliveryLane
    let factory: RequestFactory
    let counter: StatisticsCounter
    /// Nil without a limit. Shared by derived sessions with the same.
    let rateLimiter: HostRateLimiter?
    private let adapterCount = Atomic<Int>(0)
    private let adapterList = Lock<[any Interceptor]>([])
    package let ticket = Census.ticket()
    package var transport: any Transport { link.transport }
    package var admission: AdmissionQueue { link.admission }
    package var timing: any Timing { configuration.timing }

    /// Makes a session with a transport of its own, unless the configuration has one. Sessions derived from it (``with(_:)``) share it.
    public convenience init(configuration: Configuration = Configuration(), fileID: StaticString = #fileID, line: Int = #line) {
        self.init(
            configuration: configuration, link: TransportLink(configuration), limiter: nil, counter: StatisticsCounter(),
            origin: CodeOrigin(fileID, line))
        warn(after: nil)
    }

    private init(
        configuration: Configuration, link: TransportLink, limiter: HostRateLimiter?, counter: StatisticsCounter, origin: CodeOrigin
    ) {
        self.configuration = configuration
        rateLimiter = limiter ?? configuration.rateLimit.map { $0.makeLimiter(timing: configuration.timing) }
        self.link = link
        factory = RequestFactory(configuration) { url throws(NetworkError) in try link.checkTrust(url) }
        self.counter = counter
        lane = configuration.deliveryTarget.map { DeliveryLane(target: $0) } ?? DeliveryLane(queue: configuration.deliveryQueue)
        link.users.add(configuration.agent)
        LiveObjects.born(.session)
        if let ticket { ticket.watch(self, .session, origin: origin.description) }
    }

    deinit { LiveObjects.died(.session) }

    /// A session that differs in what `change` sets.
    public func with(
        fileID: StaticString = #fileID, line: Int = #line, _ change: (inout Configuration) -> Void
    ) -> Session {
        var derived = configuration
        change(&derived)
        let isSameTransport =
            derived.connection == configuration.connection && derived.customTransport === configuration.customTransport
            && derived.connectivity.isSame(as: configuration.connectivity)
        let session = Session(
            configuration: derived, link: isSameTransport ? link : TransportLink(derived),
            limiter: derived.rateLimit == configuration.rateLimit ? rateLimiter : nil, counter: counter, origin: CodeOrigin(fileID, line))
        let known = adapters
        session.adapterList.withLock { $0 = known }
        session.adapterCount.store(known.count, ordering: .releasing)
        session.warn(after: configuration.observers.isEmpty ? nil : configuration.baseURL)
        return session
    }

    /// Hits, misses and bytes saved of the cache, in all sessions that share it; nil without one. Any thread.
    public var cacheStatistics: ResponseCache.Statistics? { configuration.cache?.statistics }

    /// What the transport can do; nil with a custom one.
    public var capabilities: Capabilities? { transport.capabilities }

    /// Changes every request that starts from now on, once for each run and before the cache is asked: a field, the URL, the body.
    ///
    /// ```swift
    /// session.onRequest { $0.headers["X-Request-ID"] = UUID().uuidString }
    /// ```
    ///
    /// The closure runs on the concurrency runtime, in the order of registration, before the interceptors of the options
    /// (``RequestOptions/interceptors``); it lives as long as the session, so capture no owner. What it throws fails the run: a ``NetworkError`` as
    /// it is, all else as the `underlying` of `interceptorFailed`. Sessions that are derived later (``with(_:)``) have the closures of this one.
    public func onRequest(_ adapt: @escaping @Sendable (inout InterceptedRequest) throws -> Void) {
        adapterList.withLock { $0.append(RequestAdapter(adapt: adapt)) }
        adapterCount.add(1, ordering: .releasing)
    }

    /// True after ``onRequest(_:)``: one load for the sessions of all others.
    var hasAdapters: Bool { adapterCount.load(ordering: .acquiring) > 0 }
    var adapters: [any Interceptor] { hasAdapters ? adapterList.withLock { $0 } : [] }

    /// For daemons: stops taking requests, lets running ones finish or cancels them, and returns when thread and sockets are gone.
    ///
    /// Starts from then on end with `shutdown`, but for what a running request needs: a request that its `TokenSource`, challenge handler or hook
    /// sends. It concerns every session that shares this transport, whatever agent it has. What cache, cookies and credentials have changed is
    /// on disk then, unless the disk takes longer than two seconds.
    public func shutdown(cancelling: Bool = true) async {
        link.users.close()
        while case let runs = link.users.runs(on: link), !runs.isEmpty {
            if cancelling { for run in runs { _ = run.cancel(.shutdown) } }
            for run in runs { await run.ending?() }
        }
        await transport.shutdown()
        await configuration.flushStores()
    }

    func random() -> Double { configuration.random() }

    // MARK: Preparing

    package func url(_ text: String) throws(NetworkError) -> RequestURL { try factory.urls.resolve(text) }

    /// The template of a request, over https where its host wants that.
    func template(_ description: RequestDescription) throws(NetworkError) -> RequestTemplate {
        if let error = description.failure { throw error }
        if let upgraded = try upgradedTemplate(description) { return upgraded }
        return try factory.template(description)
    }

    func headerBlock(_ fields: HTTPFields, method: HTTPRequest.Method, body: RequestBody?) throws(NetworkError) -> HeaderBlock {
        try HeaderLayers.block(fields, method: method, body: body)
    }
}

extension Session: CensusMember {
    package var censusState: CensusState {
        var state = CensusState()
        state.text = URLText.maskingUserinfo(configuration.baseURL ?? "")
        return state
    }
}
