import HTTPTypes
import SystemSupport

/// A request: made by a ``Session``, not started, and startable again and again.
///
/// Each start is a run of its own with its own ending. Closures arm the *next* start and are destroyed when that run ends, so capturing
/// `self` makes no lasting cycle. Prefer the forms that take the owner and hand it back: they hold it weakly, and so let its bag do its work.
///
/// ```swift
/// session.get("posts", as: [Post].self).bound(to: self)
///     .onSuccess { model, posts in model.posts = posts }
///     .onFailure { model, error in model.message = error.localizedDescription }
///     .start()
/// ```
///
/// A closure runs on the actor where it was written, else on the session's delivery queue; never on the network thread, never under a lock,
/// never from inside `start` or `cancel`. Any thread may use a request.
public final class Request<Value: Sendable>: Sendable {
    /// The session that made the request. A request keeps it alive.
    public let session: Session
    /// Unique in the process.
    public let id = Identifier.next()

    private let decoder: ResponseDecoder<Value>
    private let state: Lock<RequestState>
    private let ticket: CensusTicket?
    let origin: CodeOrigin

    init(session: Session, decoder: ResponseDecoder<Value>, description: RequestDescription, origin: CodeOrigin) {
        let coding = session.configuration.json
        (self.session, self.origin) = (session, origin)
        self.decoder = decoder.resolved(with: coding)
        state = Lock(RequestState(description: description.resolved(with: coding)))
        LiveObjects.born(.request)
        ticket = Census.ticket(inheriting: session.ticket)
        if let ticket { ticket.watch(self, .request, origin: origin.description, name: description.url) }
    }

    deinit {
        LiveObjects.died(.request)
        if ticket != nil || !session.configuration.observers.isEmpty { tellOfForgottenStart() }
    }

    /// Closures that are armed when the request goes were meant for a start that never came.
    private func tellOfForgottenStart() {
        let (url, closures) = state.withLock { ($0.description.url, $0.armed.origins) }
        guard !closures.isEmpty else { return }
        let (warning, observers) = (SessionWarning.ofForgottenStart(url, closures: closures), session.configuration.observers)
        ticket?.note(.forgotten(warning.description))
        if observers.isEmpty { return }
        // Not on the thread that let go of it.
        WorkPool.shared.submit([{ for observer in observers { observer.observe(warning) } }])
    }

    // MARK: Changing

    /// Changes the options of later starts.
    public func options(_ change: (inout RequestOptions) -> Void) -> Self {
        changeDescription { description in
            var options = description.options.value
            change(&options)
            return description.with(options)
        }
    }

    /// Replaces the description. `change` is called outside the lock; of two changes at once the later one counts.
    @discardableResult
    func changeDescription(_ change: (RequestDescription) -> RequestDescription) -> Self {
        var replacement = change(state.withLock { $0.description })
        // What it held before is let go outside the lock: it may be the caller's.
        state.withLock { $0.replaceDescription(by: &replacement) }
        return self
    }

    var currentDescription: RequestDescription { state.withLock { $0.description } }
    package var currentOptions: RequestOptions { currentDescription.options.value }
    package var currentBody: RequestBody? { currentDescription.body }
    /// Lets later starts fail with an error, without sending anything: for layers that find their own input wrong. Of several the first one counts.
    public func refused(with error: NetworkError) -> Self { changeDescription { $0.with(error) } }

    package func arm(_ change: (inout RunHandlers) -> Void) { state.withLock { change(&$0.armed) } }

    package func setDelegate(_ reference: DelegateReference?) { state.withLock { $0.delegate = reference } }

    // MARK: Starting

    package func start(
        in bag: BagStorage?, origin: CodeOrigin, handlers extra: consuming RunHandlers? = nil, stream: BodyStream? = nil,
        batch: DeliveryBatch = .direct, canceller: TaskCanceller? = nil
    ) -> Run {
        RunStarter(session: session, requestID: id, decoder: decoder.any).start(
            state, in: bag, origin: origin, handlers: extra, stream: stream, batch: batch, canceller: canceller)
    }

    func prepared() -> RequestTemplate {
        let (description, known) = state.withLock { ($0.description, $0.template) }
        var error: NetworkError?
        return known ?? RunStarter.prepare(description, for: session, &error)
    }

    // MARK: Reading

    /// The URL that a start now would ask, without redirects; as it was given where it cannot be asked.
    public var url: String { prepared().url.string }

    /// The latest run, if the request was ever started.
    package var last: RunDriver? { state.withLock { $0.last } }

    /// Where the latest run is; `created` before the first start.
    public var status: Run.Status {
        last?.status ?? Run.Status(stage: .created, attempt: 0, isSuspended: false, cancelReason: nil)
    }

    /// How the latest run ended; nil before the first start, while it is going on, and after a cancellation.
    public var result: Result<Response<Value>, NetworkError>? { last?.result.map { outcome in outcome.map { Response($0) } } }

    /// Cancels the latest run.
    @discardableResult
    public func cancel() -> Run.CancelResult { Run.CancelResult(last?.cancel(.explicit) ?? .alreadyEnded) }

    /// The request as a `curl` command line that a POSIX shell understands, secrets masked.
    public var curlCommand: String {
        let template = prepared()
        let description = state.withLock { $0.description }
        return CURLCommand(description, template).description
    }
}

extension Request: CustomStringConvertible {
    /// Method, URL and state of the latest run on one line, secrets masked: `GET https://api.example/7 (transferring, attempt 1)`.
    public var description: String {
        let description = state.withLock { $0.description }
        let template = prepared()
        let url = template.url.handle == nil ? URLText.maskingUserinfo(description.url) : template.url.description
        return "\(description.method.rawValue) \(SecretMask().maskedURL(url).printable) (\(last.map { "\($0.status)" } ?? "not started"))"
    }
}

extension Request: CensusMember {
    package var censusState: CensusState {
        var state = CensusState()
        let (url, closures, last) = self.state.withLock { ($0.description.url, $0.armed.origins, $0.last) }
        state.text = URLText.maskingUserinfo(url)
        state.closures = closures
        state.holds = [last?.ticket?.number, session.ticket?.number].compactMap { $0 }
        return state
    }
}
