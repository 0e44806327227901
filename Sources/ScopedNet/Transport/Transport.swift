public import FoundationEssentials

/// The component that sends transfers and reports what came of them.
///
/// ``CurlTransport`` is the default; tests pass a mock: `Session.Configuration(customTransport: …)`. The contract:
///
/// 1. ``start(_:sink:)`` returns at once and never calls the sink from within.
/// 2. Every started transfer ends in exactly one ``TransferSink/transfer(_:didFinishWith:batch:)``, also after ``cancel(_:)``;
///    nothing is called after it.
/// 3. Calls for one transfer are ordered and never overlap. They may come on any one thread, never under a lock of the transport.
/// 4. Each batch of calls ends with ``DeliveryBatch/end()``, which hands what the sinks collected to their delivery queues at once.
@_spi(Transport) public protocol Transport: AnyObject, Sendable {
    /// Starts a transfer. Returns at once; the sink is called from another thread.
    func start(_ transfer: TransferRequest, sink: any TransferSink)
    /// Makes a connection that the next transfer to the same origin uses, and sends nothing: ``Session/preconnect(to:)``. Ends as a transfer does,
    /// without a head. By default it is done at once and nothing was.
    func preconnect(_ transfer: TransferRequest, sink: any TransferSink)
    /// Makes the connection of a channel, says so (``TransferMilestone/opened(_:)``), and from then on moves the bytes of ``TransferRequest/pipe`` in both
    /// directions until either side closes. Ends as a transfer does, without a head. By default it ends at once, with `unsupportedScheme`.
    func open(_ transfer: TransferRequest, sink: any TransferSink)
    /// Ends the transfer with the code ``NetworkError/Code/cancelled``. Never blocks. Unknown or ended transfers are ignored.
    func cancel(_ id: TransferID)
    /// Stops reading from and writing to the connection; the idle clock is held.
    func suspend(_ id: TransferID)
    /// Lets a suspended transfer go on. Never blocks; unknown or ended transfers are ignored.
    func resume(_ id: TransferID)
    /// The network is another one now: idle connections are closed, names and connections known so far are not used by later transfers.
    /// Transfers under way go on as long as they can. Never blocks.
    func networkChanged()
    /// What this transport can do. Nil for transports that are not libcurl.
    var capabilities: Capabilities? { get }
    /// Ends every transfer with ``NetworkError/Code/shutdown`` and returns when its thread and sockets are gone.
    func shutdown() async
}

extension Transport {
    /// Nil: this transport is not libcurl.
    public var capabilities: Capabilities? { nil }
    /// Does nothing.
    public func networkChanged() {}
    /// Is done at once.
    public func preconnect(_ transfer: TransferRequest, sink: any TransferSink) { end(transfer, sink, nil) }
    /// Ends at once: this transport has no channels.
    public func open(_ transfer: TransferRequest, sink: any TransferSink) {
        end(transfer, sink, NetworkError(.unsupportedScheme, phase: .preparing, message: "this transport has no channels"))
    }

    private func end(_ transfer: TransferRequest, _ sink: any TransferSink, _ error: NetworkError?) {
        WorkPool.shared.submit([
            {
                let batch = DeliveryBatch()
                sink.transfer(transfer.id, didFinishWith: TransferResult(error: error), batch: batch)
                batch.end()
            }
        ])
    }
}

/// Names one transfer (one attempt, one hop) in the process.
@_spi(Transport) public struct TransferID: Hashable, Sendable {
    /// The number itself; numbers count up.
    public let number: UInt64
    /// Makes a new name.
    public init() { number = Identifier.next() }
}

/// The receiver of a transfer's events. Calls come on the transport's thread: they decide and hand on, they never run user code.
@_spi(Transport) public protocol TransferSink: AnyObject, Sendable {
    /// Only for requests with ``TransferRequest/wantsMilestones``.
    func transfer(_ id: TransferID, didReach milestone: TransferMilestone, batch: DeliveryBatch)
    /// The final head (never 1xx). The answer says where the body goes.
    func transfer(_ id: TransferID, didReceive head: ResponseHead, batch: DeliveryBatch) -> BodyDestination
    /// Only for requests with ``TransferRequest/wantsProgress``. Counts are wire bytes of the body; `total` is nil when unknown.
    func transfer(_ id: TransferID, didSend count: Int64, of total: Int64?, batch: DeliveryBatch)
    /// Only for requests with ``TransferRequest/wantsProgress``. Counts are wire bytes of the body; `total` is nil when unknown.
    func transfer(_ id: TransferID, didReceive count: Int64, of total: Int64?, batch: DeliveryBatch)
    /// The transfer needs its connection no more, and has not ended: the last of its file is being written. At most once.
    func transferDidLeaveConnection(_ id: TransferID)
    /// Receives the end of the transfer, its last call.
    func transfer(_ id: TransferID, didFinishWith result: consuming TransferResult, batch: DeliveryBatch)
}

extension TransferSink {
    /// Does nothing.
    public func transferDidLeaveConnection(_ id: TransferID) {}
}

/// The place a response body goes to.
@_spi(Transport) public enum BodyDestination: Sendable {
    /// Into memory, up to a number of bytes; more is ``NetworkError/Code/bodyTooLarge``.
    case memory(limit: Int)
    /// Into memory, as ``memory(limit:)``, where others look at it meanwhile.
    case collected(Collected, limit: Int)
    /// Into memory up to a number of bytes; the rest is read and dropped. Where nobody asked for the body (redirects, error pages), not
    /// without end: behind a mebibyte the transfer ends there, and its connection with it.
    case memoryPrefix(limit: Int, isWanted: Bool = false)
    /// Into a file, of any length unless the options limit it.
    case file(FileSink)
    /// Into a stream, which pauses the transfer while its reader is behind.
    case stream(BodyStream)
    /// Into a stream, and into memory besides, as ``memory(limit:)``; nil for the stream alone. A reader that leaves it stops nothing.
    case observed(BodyStream, limit: Int?)
    /// Nowhere before somebody has decided.
    case held(HeldBody)
}

extension BodyDestination {
    /// The stream that a body goes to, alone or besides.
    package var stream: BodyStream? {
        switch self {
        case .stream(let stream), .observed(let stream, _): stream
        case .memory, .collected, .memoryPrefix, .file, .held: nil
        }
    }
}

/// An event on the way out, for observers alone.
@_spi(Transport) public enum TransferMilestone: Sendable {
    /// A connection is ready and the request is about to be sent. Times are since the start of the transfer.
    case connected(TransferMetrics.ConnectionTimings)
    /// The connection of a channel stands, and bytes go through it from here on.
    case opened(TransferMetrics)
    /// The reused connection was dead before the first byte of the response, and the request goes out on another one.
    case reconnected
    /// An interim response, 1xx (RFC 9110 section 15.2).
    case informational(ResponseHead)
    /// The server's certificates were rejected, or in report-only mode would have been.
    case trustReported(SecurityPolicy.TrustFailure)
}

extension TransferMetrics {
    /// The times at which a connection was made ready, since the start of the transfer. Zero where a pooled connection was reused.
    public struct ConnectionTimings: Sendable {
        /// The time when the name was resolved.
        public var nameLookup: Duration
        /// The time when TCP was connected.
        public var connect: Duration
        /// Nil on plain connections and reused ones.
        public var secured: Duration?
        /// The address of the server, or of the proxy.
        public var remoteAddress: String
        /// The port at ``remoteAddress``.
        public var remotePort: Int
        /// The address on this side.
        public var localAddress: String
        /// The port on this side.
        public var localPort: Int
        /// True when a pooled connection was used.
        public var isReused: Bool
    }
}

/// The end of a transfer.
@_spi(Transport) public struct TransferResult: Sendable {
    // One reference wide: every step of a run passes it on, and some keep a copy.
    private var storage: Storage

    private final class Storage: @unchecked Sendable {
        // Safety: changed only by the setters below, which first make sure that nobody else refers to it. Unchecked: no access lasts longer than a
        // load or a store.
        @exclusivity(unchecked) var error: NetworkError?
        @exclusivity(unchecked) var head: ResponseHead?
        @exclusivity(unchecked) var body: Data
        @exclusivity(unchecked) var metrics: TransferMetrics

        init(_ error: NetworkError?, _ head: ResponseHead?, _ body: Data, _ metrics: TransferMetrics) {
            self.error = error
            self.head = head
            self.body = body
            self.metrics = metrics
        }
    }

    /// Nil when the response is complete by its framing.
    public var error: NetworkError? {
        get { storage.error }
        set { change { $0.error = newValue } }
    }
    /// The final head; nil when none came.
    public var head: ResponseHead? {
        get { storage.head }
        set { change { $0.head = newValue } }
    }
    /// The body as it came over the wire (content codings not yet decoded); empty for file and stream destinations.
    public var body: Data {
        get { storage.body }
        set { change { $0.body = newValue } }
    }
    /// The measurements of the attempt.
    public var metrics: TransferMetrics {
        get { storage.metrics }
        set { change { $0.metrics = newValue } }
    }

    /// Makes an end; without an error a success.
    public init(error: NetworkError? = nil, head: ResponseHead? = nil, body: Data = Data(), metrics: TransferMetrics = .init()) {
        storage = Storage(error, head, body, metrics)
    }

    private mutating func change(_ change: (Storage) -> Void) {
        if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.error, storage.head, storage.body, storage.metrics) }
        change(storage)
    }
}

/// The results that the sinks of one batch of calls want delivered, handed over in one step per delivery queue when the batch ends.
///
/// Not thread-safe: it belongs to the thread that makes the calls.
@_spi(Transport) public final class DeliveryBatch {
    // Safety of the unchecked accesses: one thread, and nothing is called that comes back here.
    @exclusivity(unchecked) private var lane: DeliveryLane?
    @exclusivity(unchecked) private var items: [DeliveryLane.Item] = []
    @exclusivity(unchecked) private var jobs: [WorkPool.Job] = []
    @exclusivity(unchecked) private var waits: [(group: BlockingPool.Group, job: BlockingPool.Job)] = []

    /// Hands on at once what it is given, and so belongs to no thread: for events that come alone.
    // Safety: its one variable part stays empty, as `isDirect` is constant and asked first.
    nonisolated(unsafe) package static let direct = DeliveryBatch(isDirect: true)
    private let isDirect: Bool

    /// Makes an empty batch.
    public convenience init() { self.init(isDirect: false) }

    private init(isDirect: Bool) { self.isDirect = isDirect }

    package func deliver(_ item: DeliveryLane.Item, on target: DeliveryLane) {
        if isDirect { return target.enqueue(item) }
        if lane !== target {
            flush()
            lane = target
        }
        items.append(item)
    }

    package func work(_ job: @escaping WorkPool.Job) {
        if isDirect { WorkPool.shared.submit([job]) } else { jobs.append(job) }
    }

    /// Takes a job that may block.
    package func block(_ group: BlockingPool.Group, _ job: @escaping BlockingPool.Job) {
        if isDirect { BlockingPool.shared.submit(group, job) } else { waits.append((group, job)) }
    }

    /// Call after each batch of sink calls, outside all locks.
    public func end() {
        flush()
        if !jobs.isEmpty {
            WorkPool.shared.submit(jobs)
            jobs.removeAll(keepingCapacity: true)
        }
        if !waits.isEmpty {
            for wait in waits { BlockingPool.shared.submit(wait.group, wait.job) }
            waits.removeAll(keepingCapacity: true)
        }
    }

    /// As ``end()``, on the thread of a task that waits: what resumes it is done here, where nothing else holds it up.
    package func endResuming() {
        if lane === DeliveryLane.resumption {
            lane = nil
            DeliveryLane.runHere(&items)
        }
        end()
    }

    private func flush() {
        guard let lane, !items.isEmpty else { return }
        lane.enqueue(moving: &items)
        self.lane = nil
    }
}
