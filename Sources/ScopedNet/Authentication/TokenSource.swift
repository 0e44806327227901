/// A bearer token that several requests share, and how to get the next one (RFC 6750).
///
/// ```swift
/// let tokens = TokenSource { _ in try await signIn() }
/// configuration.options.authentication = .tokens(tokens, at: "https://api.example.com")
/// ```
///
/// The token goes along with each request, before anybody asks. Where there is none yet, or where a server refuses it (401), the closure is
/// called: once, however many requests are refused, and whoever was refused with an older token gets the newer one without it. Each request is
/// sent again once. A renewal that throws fails every request that waited for it, once, with `authenticationFailed`; the next request tries again.
///
/// A request that is cancelled stops waiting; when the last one has gone, the closure's task is cancelled. A token it returns all the same
/// is kept.
///
/// All calls are safe from any thread. The source is held by the options of requests and sessions, and holds the closure: capture owners weakly.
public final class TokenSource: Sendable {
    private typealias Waiter = CheckedContinuation<Result<String, NetworkError>, Never>

    private struct State {
        var tokens: TokenState
        var waiters: [UInt64: Waiter] = [:]
        /// Left before they came.
        var left: Set<UInt64> = []
        var task: (number: UInt64, task: Task<Void, Never>)?

        mutating func take(_ numbers: Set<UInt64>) -> [Waiter] {
            numbers.compactMap { waiters.removeValue(forKey: $0) }
        }

        mutating func takeTask(_ number: UInt64) -> Task<Void, Never>? {
            guard let known = task, known.number == number else { return nil }
            task = nil
            return known.task
        }
    }

    private let state: Lock<State>
    private let renew: @Sendable (String?) async throws -> String

    /// Requests that the closure itself sends: they must not wait for it.
    @TaskLocal private static var inRenewalOf: [ObjectIdentifier] = []

    /// - Parameters:
    ///   - token: the present one; nil where the first request is to fetch it.
    ///   - renew: gets the token that was refused (nil for the first), and returns a new one. Called on a task of its own, never twice at a time.
    ///     Requests it sends itself, with `await`, carry no token of this source. Where it throws, what it throws is the `underlying` error.
    public init(_ token: String? = nil, renew: @escaping @Sendable (_ refused: String?) async throws -> String) {
        state = Lock(State(tokens: TokenState(token)))
        self.renew = renew
    }

    /// The present one; nil before the first and after `set(nil)`.
    public var token: String? { state.withLock { $0.tokens.token } }

    /// Replaces the token: somebody has signed in, or with nil out. Whoever waits for a renewal gets this one, or fails with
    /// `authenticationFailed`, and the renewal's task is cancelled.
    public func set(_ token: String?) {
        let (task, waiters) = state.withLock { state -> (Task<Void, Never>?, [Waiter]) in
            guard let ended = state.tokens.set(token) else { return (nil, []) }
            return (state.takeTask(ended.renewal), state.take(ended.waiters))
        }
        task?.cancel()
        let result: Result<String, NetworkError> = token.map { .success($0) } ?? .failure(Self.failed(nil))
        for waiter in waiters { waiter.resume(returning: result) }
    }

    /// A token that is good as far as anybody knows; waits for the renewal where one is under way or needed. Cancelling the task ends the wait.
    ///
    /// - Parameter refused: one that has been refused.
    /// - Returns: the token.
    /// - Throws: ``NetworkError``: `authenticationFailed` with what the closure threw as `underlying`, or `cancelled`.
    public func token(insteadOf refused: String? = nil) async throws(NetworkError) -> String {
        try await result(insteadOf: refused).get()
    }

    // MARK: For requests

    /// Whether this task is inside the closure.
    var isRenewingHere: Bool { Self.inRenewalOf.contains(ObjectIdentifier(self)) }

    /// Without waiting; nil where that is needed.
    var readyToken: String? { state.withLock { $0.tokens.isRenewing ? nil : $0.tokens.token } }

    /// How many wait for a renewal.
    package var waiterCount: Int { state.withLock { $0.waiters.count } }

    func result(insteadOf refused: String?) async -> Result<String, NetworkError> {
        let waiter = Identifier.next()
        // Waiting for itself would never end.
        if isRenewingHere { return .failure(Self.failed(nil)) }
        // A cancel that came when the wait was over has left a note.
        defer { state.withLock { _ = $0.left.remove(waiter) } }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let action = state.withLock { state -> TokenState.Action? in
                    if state.left.remove(waiter) != nil { return nil }
                    let action = state.tokens.ask(insteadOf: refused, waiter: waiter)
                    if case .use = action { return action }
                    state.waiters[waiter] = continuation
                    return action
                }
                switch action {
                case nil: continuation.resume(returning: .failure(Self.cancelled))
                case .use(let token): continuation.resume(returning: .success(token))
                case .wait: break
                case .renew(let number, let refused): beginRenewal(number, refused)
                }
            }
        } onCancel: {
            leave(waiter)
        }
    }

    private func beginRenewal(_ number: UInt64, _ refused: String?) {
        let inside = Self.inRenewalOf + [ObjectIdentifier(self)]
        // Nobody's in particular: it goes on when the one who began it has gone.
        let task = Task.detached { [self] in
            let result: Result<String, NetworkError>
            do {
                result = .success(
                    try await TransportUsers.$servesRunningRequest.withValue(true) {
                        try await Self.$inRenewalOf.withValue(inside) { try await renew(refused) }
                    })
            } catch { result = .failure(Self.failed(error)) }
            endRenewal(number, result)
        }
        let isOver = state.withLock { state -> Bool in
            guard state.tokens.isRenewing(number) else { return true }
            state.task = (number, task)
            return false
        }
        // Everybody had left, or it was very quick.
        if isOver { task.cancel() }
    }

    private func endRenewal(_ number: UInt64, _ result: Result<String, NetworkError>) {
        let (task, waiters) = state.withLock { state in
            (state.takeTask(number), state.take(state.tokens.renewed(number, try? result.get())))
        }
        // Let go of outside the lock.
        _ = task
        for waiter in waiters { waiter.resume(returning: result) }
    }

    private func leave(_ waiter: UInt64) {
        let (continuation, task) = state.withLock { state in
            guard let continuation = state.waiters.removeValue(forKey: waiter) else {
                state.left.insert(waiter)
                return (nil as Waiter?, nil as Task<Void, Never>?)
            }
            return (continuation, state.tokens.leave(waiter).flatMap { state.takeTask($0) })
        }
        task?.cancel()
        continuation?.resume(returning: .failure(Self.cancelled))
    }

    private static var cancelled: NetworkError { .cancelled(.taskCancelled, runID: 0, phase: .preparing) }

    private static func failed(_ error: (any Error)?) -> NetworkError {
        // The words of other errors may hold anything, a refused password too.
        let cause = error.map { ": \(($0 as? NetworkError)?.description ?? "\(type(of: $0))")" } ?? ""
        return NetworkError(.authenticationFailed, phase: .preparing, message: "there is no token\(cause)", underlying: error)
    }
}
