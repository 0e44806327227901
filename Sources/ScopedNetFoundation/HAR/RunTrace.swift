public import HTTPTypes
public import ScopedNet

/// What one run did, gathered from its events: for HAR files, waterfalls and progress displays.
///
/// A plain value: feed it the events of one run in order, look at it at any time. It holds no value, body or user info of the run.
public struct RunTrace: Sendable, Identifiable {
    /// One attempt or redirect hop: one request and what came back.
    public struct Exchange: Sendable {
        /// Without userinfo.
        public let url: String
        /// Counts from 1; redirect hops share the number of their attempt.
        public let attempt: Int
        /// When it asked for a connection.
        public internal(set) var submitted: ContinuousClock.Instant
        /// When it got one of the session's slots.
        public internal(set) var started: ContinuousClock.Instant
        /// The status and fields of the response; nil until they come.
        public internal(set) var head: ResponseHead?
        /// Wire bytes of the response body so far.
        public internal(set) var received: TransferProgress?
        /// Wire bytes of the request body so far.
        public internal(set) var sent: TransferProgress?
        var lastSent: ContinuousClock.Instant?
        /// Known once the exchange is over.
        public internal(set) var metrics: TransferMetrics?
        /// What ended it, if it was not the end of the response.
        public internal(set) var error: NetworkError?

        /// Wire bytes of the response body, by the final count where there is one.
        public var bytesReceived: Int64 { max(metrics?.bodyBytesReceived ?? 0, received?.completed ?? 0) }
        /// Wire bytes of the request body, by the final count where there is one.
        public var bytesSent: Int64 { max(metrics?.bodyBytesSent ?? 0, sent?.completed ?? 0) }
        /// The length the response declared; nil when it did not.
        public var bytesExpected: Int64? { head?.contentLength ?? received?.total }
    }

    /// A time without traffic, with its cause.
    public struct Wait: Sendable {
        /// The time when it began.
        public let began: ContinuousClock.Instant
        /// The time when it ended; nil while it lasts.
        public internal(set) var ended: ContinuousClock.Instant?
        /// The cause: `suspended`, or the reason of the retry.
        public let reason: String
    }

    /// A cancellation of the run.
    public struct Cancellation: Sendable {
        /// The reason.
        public let reason: CancelReason
        /// The time of the event.
        public let time: ContinuousClock.Instant
    }

    /// The result of a run.
    public enum Ending: Sendable {
        /// The response was accepted, and its value made.
        case succeeded
        /// The final error.
        case failed(NetworkError)
    }

    /// ``Run/Info/id``
    public let id: UInt64
    /// ``Run/Info/requestID``
    public let requestID: UInt64
    /// The method as asked for, before redirects.
    public let method: HTTPRequest.Method
    /// As asked for, before redirects. Without userinfo.
    public let url: String
    /// The fields the request was made with, the session's defaults among them. Secrets are not masked here.
    public let headers: HTTPFields
    /// The label of the bag it was started in.
    public let scope: String?
    /// The strategy that decides about the run when its owner goes.
    public let release: ReleaseStrategy
    /// The label of the request's options.
    public let tag: String?
    /// Where it was started: `Module/File.swift:12`.
    public let origin: String

    /// The time of the start.
    public private(set) var created: ContinuousClock.Instant
    /// The exchanges in their order, the present one last.
    public private(set) var exchanges: [Exchange] = []
    /// Between an attempt and its retry.
    public private(set) var retryWaits: [Wait] = []
    /// The times between a suspension and the resumption.
    public private(set) var suspensions: [Wait] = []
    /// Set when its gates closed before it had ended. A detached run goes on all the same.
    public private(set) var cancellation: Cancellation?
    /// Its own end; nil while it goes on and, unless it is detached, after a cancellation.
    public private(set) var ending: Ending?
    /// The time of the end, or of a cancellation that stopped the run; nil before.
    public private(set) var ended: ContinuousClock.Instant?
    /// When the last event came.
    public private(set) var latest: ContinuousClock.Instant
    private var submitted: ContinuousClock.Instant
    private var nextURL: String

    /// Makes a trace of the first event of a run.
    public init(_ event: RequestEvent) {
        let run = event.run
        id = run.id
        requestID = run.requestID
        method = run.method
        url = run.url
        headers = run.headers
        scope = run.scope
        release = run.release
        tag = run.tag
        origin = run.origin
        created = event.time
        latest = event.time
        submitted = event.time
        nextURL = run.url
        apply(event)
    }

    // MARK: Reading

    /// Cancelled, and not going on detached.
    public var isCancelled: Bool { cancellation != nil && !isDetached }

    /// Its owner or request is gone, and it goes on, or went on, by its strategy.
    public var isDetached: Bool {
        guard release == .detached, let cancellation else { return false }
        return cancellation.reason == .ownerReleased || cancellation.reason == .requestReleased
    }

    /// Nothing more is to come for the caller.
    public var isOver: Bool { ending != nil || isCancelled }

    /// Nothing more is to come at all: also the last transfer has reported what it cost.
    public var isComplete: Bool { isOver && exchanges.last.map { $0.metrics != nil } ?? true }

    /// True while the run is suspended.
    public var isSuspended: Bool { !isOver && suspensions.last.map { $0.ended == nil } ?? false }
    /// True between an attempt and its retry.
    public var isWaitingToRetry: Bool { !isOver && retryWaits.last.map { $0.ended == nil } ?? false }
    /// Asked for a connection and has none yet.
    public var isQueued: Bool { !isOver && !isWaitingToRetry && exchanges.last.map { $0.metrics != nil } ?? true }

    /// The head of the last exchange that has one.
    public var head: ResponseHead? { exchanges.last?.head }
    /// The final error; nil while the run goes on, and after a success or a cancellation.
    public var error: NetworkError? { if case .failed(let error) = ending { error } else { nil } }
    /// Wire bytes of all response bodies.
    public var bytesReceived: Int64 { exchanges.reduce(0) { $0 + $1.bytesReceived } }
    /// Wire bytes of all request bodies.
    public var bytesSent: Int64 { exchanges.reduce(0) { $0 + $1.bytesSent } }
    /// The number of attempts; redirects are no attempts of their own.
    public var attempts: Int { exchanges.last?.attempt ?? 0 }

    /// Bytes of declared response bodies that were never received because the run was cancelled; nil when the length was not known.
    public var bytesSaved: Int64? {
        guard isCancelled, let last = exchanges.last, let expected = last.bytesExpected else { return nil }
        return max(0, expected - last.bytesReceived)
    }

    /// From the start to the end, or to the latest event.
    public var duration: Duration { created.duration(to: ended ?? latest) }

    // MARK: Gathering

    /// Takes in the next event of the same run.
    public mutating func apply(_ event: RequestEvent) {
        latest = max(latest, event.time)
        switch event.kind {
        case .created:
            created = event.time
            submitted = event.time
        case .started(let attempt):
            if let last = retryWaits.indices.last, retryWaits[last].ended == nil { retryWaits[last].ended = event.time }
            exchanges.append(Exchange(url: nextURL, attempt: attempt, submitted: min(submitted, event.time), started: event.time))
        case .suspended: suspensions.append(Wait(began: event.time, reason: "suspended"))
        case .resumed: endSuspension(event.time)
        case .headReceived(let head): change { $0.head = head }
        case .received(let progress): change { $0.received = progress }
        case .sent(let progress):
            change {
                // The complete count is said once more at the end.
                if progress.completed > $0.sent?.completed ?? 0 { $0.lastSent = event.time }
                $0.sent = progress
            }
        case .attemptFinished(let metrics, let error):
            change {
                $0.metrics = metrics
                $0.error = error
            }
            submitted = event.time
        case .redirected(_, let target, _):
            nextURL = target
            submitted = event.time
        case .retryDecided(let reason, let after?):
            retryWaits.append(Wait(began: event.time, reason: reason))
            submitted = event.time + after
        case .finished(let completion): finish(completion.error.map { .failed($0) } ?? .succeeded, event.time)
        case .cancelled(let reason): cancel(reason, event.time)
        default: break
        }
    }

    private mutating func change(_ body: (inout Exchange) -> Void) {
        if let last = exchanges.indices.last { body(&exchanges[last]) }
    }

    private mutating func endSuspension(_ time: ContinuousClock.Instant) {
        if let last = suspensions.indices.last, suspensions[last].ended == nil { suspensions[last].ended = time }
    }

    private mutating func finish(_ ending: Ending, _ time: ContinuousClock.Instant) {
        self.ending = ending
        ended = time
        endSuspension(time)
    }

    private mutating func cancel(_ reason: CancelReason, _ time: ContinuousClock.Instant) {
        cancellation = Cancellation(reason: reason, time: time)
        guard !isDetached else { return }
        ended = time
        if let last = retryWaits.indices.last, retryWaits[last].ended == nil { retryWaits[last].ended = time }
        endSuspension(time)
    }
}
