import HTTPTypes
import SystemSupport

/// A request: made by a ``Session``, not started, and startable again and again.
///
/// Each start is a run of its own with its own ending. Closures arm the *next* start and are destroyed when that run ends, so capturing
/// `self` makes no lasting cycle. Prefer the forms that take the owner and hand it back: they hold it weakly, and so let its bag do its work.
///
/// ```swift
/// session.get("posts", as: [Post].self)
///     .onSuccess(for: self) { model, posts in model.posts = posts }
///     .onFailure(for: self) { model, error in model.message = error.description }
///     .start(in: bag)
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

    init(session: Session, decoder: ResponseDecoder<Value>, description: RequestDescription, origin: CodeOrigin) {
        let coding = session.configuration.json
        self.session = session
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
        state.withLock { state in
            swap(&state.description, &replacement)
            state.template = nil
        }
        return self
    }

    var currentDescription: RequestDescription { state.withLock { $0.description } }
    package var currentOptions: RequestOptions { currentDescription.options.value }
    package var currentBody: RequestBody? { currentDescription.body }
    /// What it was made of cannot be sent: the next start fails with this.
    package func refuse(_ error: NetworkError) { changeDescription { $0.with(error) } }

    package func arm(_ change: (inout RunHandlers) -> Void) {
        state.withLock { change(&$0.armed) }
    }

    package func setDelegate(_ reference: DelegateReference?) {
        state.withLock { $0.delegate = reference }
    }

    // MARK: Starting

    package func start(
        in bag: BagStorage?, origin: CodeOrigin, handlers extra: consuming RunHandlers? = nil, stream: BodyStream? = nil,
        batch: DeliveryBatch? = nil, canceller: TaskCanceller? = nil
    ) -> Run {
        var handlers = RunHandlers()
        var (token, description, known) = state.withLock { state in
            swap(&handlers, &state.armed)
            if let delegate = state.delegate { handlers.delegate = delegate }
            return (state.token, state.description, state.template)
        }
        var error: NetworkError?
        if let made = known, !session.isCurrent(made) { known = nil }
        let settled = known ?? prepare(description, &error)
        if let extra = consume extra { handlers.merge(extra) }
        var hooks = handlers.hooks
        handlers.hooks = nil
        let run = RunCore(
            template: settled, requestID: id, session: session, decoder: decoder.any, handlers: consume handlers, stream: stream,
            scope: bag?.label,
            repeatKey: repeatKey(settled.options), origin: origin, preparationError: error)
        if settled.options.release == .cancelOnRelease {
            token = token ?? makeToken()
            token?.adopt(run)
        }
        switch session.agent.add(run) {
        case .refused(let existing):
            run.discard()
            return Run(core: existing, token: nil, wasRefused: true)
        case .accepted(let replaced):
            for old in replaced { _ = old.cancel(.replaced) }
        }
        if let mine = hooks { run.adopt(mine) }
        // The run may be over before this returns, and nobody but it may hold them then.
        hooks = nil
        var previous: RunCore? = run
        state.withLock { state in
            swap(&state.last, &previous)
            if known == nil, error == nil, state.description === description { state.template = settled }
        }
        known = nil
        previous = nil
        let handle = Run(core: run, token: settled.options.release == .cancelOnRelease ? token : nil)
        StepDoor.pass(.beforeLink, run.id)
        if let bag, !bag.insert(run) {
            _ = run.cancel(bag.endReason ?? .ownerReleased)
            return handle
        }
        StepDoor.pass(.afterLink, run.id)
        // Before anything is sent: the task that awaits it may have been cancelled already.
        canceller?.arm(run)
        run.begin(batch: batch)
        return handle
    }

    private func makeToken() -> HandleToken {
        let fresh = HandleToken()
        return state.withLock { state in
            if let token = state.token { return token }
            state.token = fresh
            return fresh
        }
    }

    private func repeatKey(_ options: RequestOptions) -> RequestAgent.RepeatKey? {
        guard options.repeats.strategy != .allowAll else { return nil }
        return options.repeats.key.map { .key($0) } ?? .object(id)
    }

    func prepared() -> RequestTemplate {
        let (description, known) = state.withLock { ($0.description, $0.template) }
        var error: NetworkError?
        return known ?? prepare(description, &error)
    }

    /// Checks the description; what is wrong with it becomes the run's failure.
    private func prepare(_ description: RequestDescription, _ failure: inout NetworkError?) -> RequestTemplate {
        do throws(NetworkError) { return try session.template(description) } catch {
            failure = error
            // Carries the options to the failing run.
            return RequestTemplate(
                url: .placeholder(description.url), method: description.method, fields: [:], headers: .empty, body: nil,
                options: description.options.value, transferOptions: TransferOptions(), destination: nil, errorBodyBytes: 0)
        }
    }

    // MARK: Reading

    /// The latest run, if the request was ever started.
    package var last: RunCore? { state.withLock { $0.last } }

    /// Where the latest run is; `created` before the first start.
    public var status: Run.Status {
        last?.status ?? Run.Status(stage: .created, attempt: 0, isSuspended: false, cancelReason: nil)
    }

    /// How the latest run ended; nil before the first start, while it is going on, and after a cancellation.
    public var result: Result<Response<Value>, NetworkError>? { last?.result.map { outcome in outcome.map { Response($0) } } }

    /// Cancels the latest run.
    @discardableResult
    public func cancel() -> Run.CancelResult { last?.cancel(.explicit) ?? .alreadyEnded }

    /// The request as a `curl` command line that a POSIX shell understands, secrets masked.
    public var curlCommand: String {
        let template = prepared()
        let description = state.withLock { $0.description }
        let body: CURLCommand.Body =
            switch description.body?.content {
            case nil: .none
            case .data(let data): .bytes([UInt8](data))
            case .file(let path): .file(path)
            case .stream: .stream
            }
        return CURLCommand(
            method: description.method.rawValue, url: template.url.handle == nil ? description.url : template.url.string,
            fields: template.fields, body: body
        ).description
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

/// What a request holds between its starts. Not nested: it does not depend on the type of the value.
private struct RequestState: ~Copyable {
    var description: RequestDescription
    /// Made at the first start and after each change; runs share it.
    var template: RequestTemplate?
    var armed = RunHandlers()
    var delegate: DelegateReference?
    var token: HandleToken?
    var last: RunCore?
}

extension RunHandlers {
    fileprivate mutating func merge(_ other: consuming RunHandlers) {
        func add<Payload: Sendable>(_ list: inout CallbackList<Payload>, _ more: CallbackList<Payload>) {
            if list.isEmpty { list = more } else { more.forEach { list.append($0) } }
        }
        add(&success, other.success)
        add(&failure, other.failure)
        if !other.cached.isEmpty { add(&cached, other.cached) }
        if !other.head.isEmpty { add(&head, other.head) }
        if !other.sent.isEmpty { add(&sent, other.sent) }
        if !other.received.isEmpty { add(&received, other.received) }
        add(&end, other.end)
        if let own = other.observer { observer = own }
        resolve = other.resolve ?? resolve
    }
}

extension RunCore {
    /// A start that was refused: its closures go, nothing is called.
    func discard() {
        _ = closeGate(.explicit)
        releaseHandlers()
    }
}
