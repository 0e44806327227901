import HTTPTypes
import Synchronization

/// The body of an exchange that is sent again.
enum BodyForReplay: Sendable {
    /// The same, or none where there is none.
    case same
    case new(RequestBody)
}

/// A run that asks the program how to go on.
protocol HookedRun: WaitingRun {
    var receiving: ReceivingState { get set }
    var downloading: DownloadState { get set }
    /// Errors with which the request could not be made.
    var preparationError: NetworkError? { get }
    /// The usual place of a body.
    func place(_ head: ResponseHead) -> (to: BodyDestination, file: FileSink?)
    func acceptsType(_ head: ResponseHead, isEmpty: Bool) -> Bool
    /// A wait was too long. Something stored may be better than the error.
    func expire(_ error: NetworkError)
}

extension HookedRun {
    /// Asks the program; a total time that is over ends the run.
    func ask<Answer: Sendable>(_ question: HookQuestion<Answer>, next: @escaping @Sendable (Self, Answer) -> Void) {
        ask(question, expired: { $0.expire($1) }, next: next)
    }

    /// Before the run begins, once it is in the agent: from here on every end takes them away.
    func adopt(_ hooks: HookBox) {
        addExtra { $0.hooks = hooks }
        // As for the options' hooks, which the template knows of.
        if hooks.table.holdsBodies, preparationError == nil, let options = template.transferOptions.holdingBodies {
            exchanges.setOptions(options)
        }
        // Cancelled meanwhile, when there was nothing to take away yet.
        if lifecycle.isOver { dropHooks() }
    }

    /// The hook of this start, or else of the options. Nil where there is none, and where nobody is asked any more: hooks are called as little as
    /// anything else after a cancel (G3), and a refresh beside a stale response is nobody's.
    func hook<Question, Answer>(_ which: (HookTable) -> Hook<Question, Answer>?) -> Hook<Question, Answer>? {
        guard !isMuted, !isRefresh else { return nil }
        if let own = ifExtras({ $0.hooks }) ?? nil, let hook = which(own.table) { return hook }
        return template.options.hooks.box.flatMap { which($0.table) }
    }

    /// A question to that hook; nil where there is none.
    func question<Question, Answer>(
        _ which: (HookTable) -> Hook<Question, Answer>?, _ make: () -> Question
    ) -> HookQuestion<Result<Answer?, any Error>>? {
        guard let hook = hook(which) else { return nil }
        let (question, admit) = (make(), admission)
        return HookQuestion { await hook.ask(question, admit: admit) }
    }

    /// The run waits for the answer. What the hook throws ends it.
    ///
    /// `next` gets nil where the hook was not called: what happens then is what happens without one.
    func ask<Answer>(_ question: HookQuestion<Result<Answer?, any Error>>, next: @escaping @Sendable (Self, Answer?) -> Void) {
        ask(question) { (run: Self, answer: Result<Answer?, any Error>) in
            switch answer {
            case .success(let answer): next(run, answer)
            case .failure(let error): run.fail(run.hookError(error))
            }
        }
    }

    /// Asked just before a hook is called, where it runs. Holds no run.
    var admission: @Sendable () -> Bool {
        { [weak self] in self?.mayCall == true }
    }

    /// An error of the program's own, or, said of this run, what was thrown.
    func hookError(_ error: any Error) -> NetworkError {
        // `cancelled` is said of runs that were.
        guard let own = error as? NetworkError, own.code != .cancelled else {
            return NetworkError(
                .hookFailed, phase: .receiving, message: "a hook threw \(error)", runID: id, attempt: attemptNumber, underlying: error)
        }
        var numbered = own
        numbered.runID = id
        numbered.attempt = attemptNumber
        return numbered
    }

    // MARK: A body once more

    /// False where a body that can be read once is a reason to give up.
    var canReplayBody: Bool { exchange.body?.isReplayable ?? true || hook { $0.newBody } != nil }

    /// The body for one more exchange: the present one where that can be sent again, else what the program gives in its place.
    ///
    /// - Parameters:
    ///   - body: the one that would be sent again; nil for none.
    ///   - replay: the question for the hook.
    ///   - next: gets nil where it cannot be sent again and the program has no other. On this thread, or on one of the concurrency runtime.
    ///     Not called when the hook throws, which ends the run, or the run is cancelled.
    func replayBody(
        _ body: RequestBody?, _ replay: RequestHooks.BodyReplayRequest, next: @escaping @Sendable (Self, BodyForReplay?) -> Void
    ) {
        guard let body, !body.isReplayable else { return next(self, .same) }
        guard let question = question({ $0.newBody }, { replay }) else { return next(self, nil) }
        ask(question) { (run: Self, answer: RequestBody??) in
            next(run, (answer ?? nil).map { .new($0.resolved(with: run.session.configuration.json)) })
        }
    }

    func replaceBody(_ body: RequestBody) throws(NetworkError) {
        let last = exchange
        try body.check(for: last.method)
        var next = NextExchange(url: last.url, method: last.method, fields: last.headers.fields, body: last.body)
        next.replaceBody(.new(body))
        let headers = try session.headerBlock(next.fields, method: last.method, body: body)
        guard exchanges.isConditional else { return exchanges.replaceBody(body, headers, own: nil) }
        // A later exchange begins with these, and not with those that the cache made of them.
        (next.fields, next.body) = (exchanges.ownHeaders.fields, last.body)
        next.replaceBody(.new(body))
        exchanges.replaceBody(body, headers, own: try session.headerBlock(next.fields, method: last.method, body: body))
    }
}
