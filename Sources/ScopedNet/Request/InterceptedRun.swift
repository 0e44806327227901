/// The interceptors of one run: those around the call, and those around its present exchange.
final class InterceptionSession {
    /// Values that its interceptors leave for each other.
    let values = InterceptedRequest.Values()
    /// The chain that waits for the outcome of the call; nil once it has ended.
    var call: InterceptorChain?
    /// The chain that waits for the response of the present exchange; nil where there is none.
    var exchange: InterceptorChain?
    /// The request with which `next` was called again, to be sent as the next exchange.
    var pending: InterceptedRequest?
    /// The reader of a stream has begun to get a body: there can be no other one.
    var hasReader = false
}

/// A run whose requests and responses pass interceptors: around the call as a whole, and around each exchange.
///
/// An ``InterceptorChain`` and the run take turns. While the chain has the turn the run waits as it waits for anything else; a cancel ends chain and
/// wait. While an exchange is under way the chain is among the run's extras, so that a cancel finds it there.
protocol InterceptedRun: RetriedRun, RedirectedRun {
    var interception: InterceptionSession? { get set }
    var assembler: ResponseAssembler { get }
    /// The cache has no part any more in the present exchange.
    func leaveCache()
    /// Prepares another exchange, for a response that is not to be the run's own.
    func again(_ timing: RetryTiming, _ input: inout StepInput) -> RunEvent
}

extension InterceptedRun {
    // MARK: Turns

    func makeChain(_ interceptors: [any Interceptor], _ place: InterceptedRequest.Context.Place) -> InterceptorChain {
        let session = interception ?? InterceptionSession()
        interception = session
        let context = InterceptedRequest.Context(
            place: place, runID: id, attempt: exchanges.attempt, redirects: redirecting.visits.count, tag: template.options.tag,
            userInfo: template.options.userInfo, isRefresh: isRefresh, values: session.values
        ) { [weak self] in _ = self?.cancel(.explicit) }
        let mayGoOn: @Sendable () -> Bool = { [weak self] in self?.mayGoOn ?? false }
        let chain = InterceptorChain(interceptors, context, mayGoOn: mayGoOn) { [weak self, id] in
            guard let self, !self.mayGoOn || isMuted else {
                let message = "next was called by an interceptor that has ended"
                return NetworkError(.interceptorFailed, phase: .sending, message: message, runID: id)
            }
            return .cancelled(reason, runID: id, phase: reachedPhase)
        }
        keep(chain, place, session)
        stream?.hold()
        beginTotalTime()
        return chain
    }

    /// A cancel finds the chain among the extras of the run from here on, also between its turns.
    private func keep(_ chain: InterceptorChain, _ place: InterceptedRequest.Context.Place, _ session: InterceptionSession) {
        switch place {
        case .call: session.call = chain
        case .exchange: session.exchange = chain
        }
        setWait(chain, place == .call ? .call : .exchange, of: 0)
    }

    /// The interceptors have the turn, and the run waits.
    func takeTurn(
        _ chain: InterceptorChain,
        begin: (_ then: @escaping @Sendable (InterceptorChain.Turn) -> Void) -> Void,
        expired: @escaping @Sendable (Self, NetworkError) -> Void = { $0.expire($1) },
        next: @escaping @Sendable (Self, InterceptorChain.Turn, inout StepInput) -> RunEvent?
    ) {
        let stage = RunStage.waiting(TransferID().number)
        let remaining = exchanges.deadline.map { left(until: $0) }
        let limit = [template.options.timeouts.interceptor, remaining].compactMap { $0 }.min()
        let isTotal = limit != template.options.timeouts.interceptor
        // One that gets its turn when the time is over has kept nobody waiting.
        let blame = remaining.map { $0 > .zero } ?? false ? ", and an interceptor has not answered" : ""
        wait(stage) {
            if let limit {
                self.limit(stage, to: limit) { run in
                    let error =
                        isTotal ? run.totalTimeout(.sending, blame) : run.interceptorTimeout(limit)
                    chain.cancel(error)
                    expired(run, error)
                }
            }
            begin { [weak self] turn in
                self?.resume(stage) { run in
                    var input = StepInput()
                    if let event = next(run, turn, &input) { run.receive(event, input) }
                }
            }
        }
        // A cancel that came before the chain was known could not end it.
        if !mayGoOn { chain.cancel() }
    }

    private func interceptorTimeout(_ limit: Duration) -> NetworkError {
        error(.interceptorTimeout, .sending, "an interceptor has neither called next nor returned for \(limit)")
    }

    /// The outcome is there. A chain that is open still was passed by, as a wait was too long: `next` throws.
    func endInterception() {
        guard let session = interception else { return }
        let chains = [session.exchange, session.call].compactMap { $0 }
        (session.call, session.exchange, session.pending) = (nil, nil, nil)
        var failure: NetworkError?
        if case .failure(let error) = outcome { failure = error }
        stream?.release(failure)
        guard !chains.isEmpty else { return }
        let reason = failure ?? error(.interceptorFailed, .delivering, "the run has ended without this exchange")
        WorkPool.shared.submit([{ [reason] in for chain in chains { chain.cancel(reason) } }])
    }
}
