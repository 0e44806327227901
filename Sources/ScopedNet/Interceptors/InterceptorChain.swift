import SystemSupport

/// One pass of a request through a list of interceptors, which take turns with the run: either one of them has the request or the response, and the
/// run waits; or `next` waits for the run.
///
/// It holds no run. Its closures are called outside its lock.
final class InterceptorChain: Cancellable {
    /// The end of a turn of the interceptors.
    enum Turn: Sendable {
        /// The last one has called `next`.
        case send(InterceptedRequest)
        /// The first one has returned.
        case answer(InterceptedResponse)
        /// The first one has thrown.
        case fail(any Error)
    }

    private typealias Waiter = CheckedContinuation<Result<InterceptedResponse, any Error>, Never>

    private enum State {
        case idle
        /// The interceptors are asked; the run waits for the closure.
        case deciding(@Sendable (Turn) -> Void)
        /// `next` waits for the run.
        case proceeding(Waiter)
        /// The task that had called `next` was cancelled by the program, and the exchange goes on.
        case abandoned
        /// The interceptors have ended while the exchange goes on.
        case ahead(Turn)
        /// With the error that `next` throws from here on, where it was ended.
        case ended((any Error)?)
    }

    private let state = Lock(State.idle)
    private let interceptors: [any Interceptor]
    private let context: InterceptedRequest.Context
    private let call = HookCall()
    private let mayGoOn: @Sendable () -> Bool
    private let ending: @Sendable () -> NetworkError

    /// `mayGoOn` is asked before each interceptor; false where the run is over. `ending` is the error that `next` throws then.
    init(
        _ interceptors: [any Interceptor], _ context: InterceptedRequest.Context, mayGoOn: @escaping @Sendable () -> Bool,
        ending: @escaping @Sendable () -> NetworkError
    ) {
        self.interceptors = interceptors
        self.context = context
        self.mayGoOn = mayGoOn
        self.ending = ending
    }

    /// False once it has ended: the response is in the run's hands.
    var isOpen: Bool { state.withLock { if case .ended = $0 { false } else { true } } }

    // MARK: The run's side

    /// Asks the interceptors. `then` is called at the end of their turn, once at most, on a thread of the concurrency runtime.
    func begin(_ request: InterceptedRequest, then: @escaping @Sendable (Turn) -> Void) {
        let begins = state.withLock { state -> Bool in
            guard case .idle = state else { return false }
            state = .deciding(then)
            return true
        }
        guard begins else { return }
        call.run { [self] in
            do { end(.answer(try await pass(request, from: 0))) } catch { end(.fail(error)) }
        }
    }

    /// Hands the response back to the one that has called `next`. As ``begin(_:then:)``.
    func respond(_ result: Result<InterceptedResponse, any Error>, then: @escaping @Sendable (Turn) -> Void) {
        let old = state.withLock { state in
            let old = state
            switch state {
            case .proceeding, .abandoned: state = .deciding(then)
            case .ahead: state = .ended(nil)
            case .idle, .deciding, .ended: break
            }
            return old
        }
        switch old {
        case .proceeding(let waiter): waiter.resume(returning: result)
        case .ahead(let turn): then(turn)
        // Ended since the run has asked: it waits for a turn all the same.
        case .ended(let error): then(.fail(error ?? ending()))
        case .idle, .deciding, .abandoned: break
        }
    }

    /// The run is over: the task is cancelled, and `next` throws.
    func cancel() { cancel(ending()) }

    /// Its owner has gone, and the run goes on for others: `next` throws, where an interceptor waits in it.
    func silence() {
        let isWaiting = state.withLock { state in
            switch state {
            case .proceeding, .abandoned: true
            case .idle, .deciding, .ahead, .ended: false
            }
        }
        if isWaiting { cancel(ending()) }
    }

    func cancel(_ error: NetworkError) {
        let old = state.withLock { state in
            let old = state
            if case .ended = old { return old }
            state = .ended(error)
            return old
        }
        switch old {
        case .proceeding(let waiter): waiter.resume(returning: .failure(error))
        // A run that waits for its turn still gets it; one that is over has taken the wait away.
        case .deciding(let then): then(.fail(error))
        case .idle, .abandoned, .ahead, .ended: break
        }
        call.cancel()
    }

    // MARK: The interceptors' side

    private func pass(_ request: InterceptedRequest, from index: Int) async throws -> InterceptedResponse {
        if let error = refusal { throw error }
        guard index < interceptors.count else { return try await proceed(request) }
        let next = InterceptedRequest.Next { [self] request in try await pass(request, from: index + 1) }
        return try await ask(interceptors[index], on: interceptors[index] as? any Actor, request, next)
    }

    /// The way to an actor takes time: a run that was cancelled there meanwhile, its owner gone, does not begin to speak on it.
    private func ask(
        _ interceptor: any Interceptor, on actor: isolated (any Actor)?, _ request: InterceptedRequest, _ next: InterceptedRequest.Next
    ) async throws -> InterceptedResponse {
        if actor != nil, let error = refusal { throw error }
        return try await interceptor.intercept(request, context: context, next: next)
    }

    /// The error of a call that comes too late.
    private var refusal: (any Error)? {
        let (isOver, error) = state.withLock { state -> (Bool, (any Error)?) in
            if case .ended(let error) = state { return (true, error) }
            return (false, nil)
        }
        if isOver { return error ?? ending() }
        return mayGoOn() ? nil : ending()
    }

    private enum Entry {
        case waiting(@Sendable (Turn) -> Void)
        case refused(any Error)
        /// The run is over, or the interceptors are.
        case late
    }

    private func proceed(_ request: InterceptedRequest) async throws -> InterceptedResponse {
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (waiter: Waiter) in
                switch enter(waiter) {
                case .waiting(let then): then(.send(request))
                case .refused(let error): waiter.resume(returning: .failure(error))
                case .late: waiter.resume(returning: .failure(ending()))
                }
            }
        } onCancel: {
            abandon()
        }
        return try result.get()
    }

    private func enter(_ waiter: Waiter) -> Entry {
        let isCancelled = Task.isCancelled
        return state.withLock { state in
            switch state {
            // A cancel of the task that came before there was anything to abandon.
            case _ where isCancelled: return .refused(CancellationError())
            case .deciding(let then):
                state = .proceeding(waiter)
                return .waiting(then)
            case .proceeding, .abandoned: return .refused(NetworkError.calledTwice)
            case .ended(let error?): return .refused(error)
            case .idle, .ahead, .ended(nil): return .late
            }
        }
    }

    /// The program has cancelled the task that waits in `next`, a time limit of its own perhaps. The exchange goes on, for the run alone.
    private func abandon() {
        let waiter = state.withLock { state -> Waiter? in
            guard case .proceeding(let waiter) = state else { return nil }
            state = .abandoned
            return waiter
        }
        waiter?.resume(returning: .failure(CancellationError()))
    }

    private func end(_ turn: Turn) {
        let (then, waiter) = state.withLock { state -> ((@Sendable (Turn) -> Void)?, Waiter?) in
            switch state {
            case .deciding(let then):
                state = .ended(nil)
                return (then, nil)
            // It has returned while a task of its own still waits in `next`.
            case .proceeding(let waiter):
                state = .ahead(turn)
                return (nil, waiter)
            case .abandoned:
                state = .ahead(turn)
                return (nil, nil)
            case .idle, .ahead, .ended: return (nil, nil)
            }
        }
        waiter?.resume(returning: .failure(CancellationError()))
        then?(turn)
    }
}

extension NetworkError {
    fileprivate static let calledTwice = NetworkError(
        .interceptorFailed, phase: .sending, message: "next was called while an earlier call of it is under way")
}
