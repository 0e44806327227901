import FoundationEssentials
import Persistence
import SystemSupport

/// A bearer token that several requests share, and how to get the next one (RFC 6750).
///
/// ```swift
/// let tokens = TokenSource(storage: .init(named: "com.example.reader")) { old in
///     let grant = try await session.post("token", form: ["refresh": old?.refresh], as: Grant.self).value()
///     return TokenSource.Token(grant.token, expiresIn: .seconds(grant.expiresIn), refresh: grant.refresh)
/// }
/// configuration.options.authentication = .tokens(tokens, at: "https://api.example.com")
/// ```
///
/// The token goes along with each request, before anybody asks. Where there is none yet, where it has expired, or where a server refuses it (401),
/// the closure is called: once, however many requests wait, and whoever was refused with an older token gets the newer one without it. A refused
/// request is sent again once. A renewal that throws fails every request that waited for it, once, with `authenticationFailed`; the next request
/// tries again.
///
/// A token whose expiry is known is renewed shortly before: the first request within the leeway begins that, and goes out with the old token
/// like all others, which wait for nothing. Where it fails, they go on with the old token until it expires, and it is tried again after a
/// quarter of the leeway. The time is that of the session's clock.
///
/// A request that is cancelled stops waiting; when the last one has gone, the closure's task is cancelled, unless the token is renewed early. A
/// token it returns all the same is kept.
///
/// All calls are safe from any thread. The source is held by the options of requests and sessions, and holds the closure: capture owners weakly.
public final class TokenSource: Sendable {
    private typealias Waiter = CheckedContinuation<Result<String, NetworkError>, Never>

    /// One look at the clocks, before the lock.
    private struct Moment {
        var now: UInt64
        var wall: Date
        var isSystem: Bool
    }

    private struct State {
        var tokens: TokenState
        /// When the token had come, by the machine's clock, and what was left of it then; nil where its expiry is not known.
        var arrival: (at: UInt64, left: Duration)?
        /// By the clock of the session, as soon as that is known.
        var life: TokenLife?
        var timing: (any Timing)?
        /// Early renewals have failed.
        var pausedUntil: UInt64 = 0
        var isLoaded = false
        /// The last one in the queue.
        var saving: Task<Void, Never>?
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

        /// The token is another one.
        mutating func noteToken(_ moment: Moment, leeway: Duration) {
            pausedUntil = 0
            life = nil
            arrival = tokens.token?.left(at: moment.wall).map { (monotonicNow(), $0) }
            if timing != nil { bind(moment, leeway) }
        }

        private mutating func bind(_ moment: Moment, _ leeway: Duration) {
            life = arrival.map { TokenLife(from: moment.isSystem ? $0.at : moment.now, lifetime: $0.left, leeway: leeway) }
        }

        mutating func age(_ moment: Moment, leeway: Duration) -> TokenLife.Age {
            guard arrival != nil else { return .good }
            if life == nil { bind(moment, leeway) }
            guard let life else { return .good }
            // A machine that slept has missed what its monotonic clock has.
            if moment.isSystem, let expiry = tokens.token?.expiresAt, expiry <= moment.wall { return .expired }
            let age = life.age(at: moment.now)
            return age == .due && moment.now < pausedUntil ? .good : age
        }
    }

    private let state: Lock<State>
    private let leeway: Duration
    private let storage: Storage?
    private let renew: @Sendable (Token?) async throws -> Token

    /// Requests that the closure itself sends: they must not wait for it.
    @TaskLocal private static var inRenewalOf: [ObjectIdentifier] = []

    /// - Parameters:
    ///   - token: the present one; nil where the storage or the closure has it.
    ///   - leeway: how long before its expiry a token is renewed: 30 seconds by default, and at most a tenth of its lifetime. Zero or less
    ///     renews what has expired.
    ///   - storage: keeps the token beyond the program; nil, the default, for none.
    ///   - renew: gets the token that was refused or expires (nil for the first), with its refresh token, and returns a new one. Called on a task of
    ///     its own, never twice at a time. Requests it sends itself, with `await`, carry no token of this source. Where it throws, what it throws
    ///     is the `underlying` error.
    public init(
        _ token: Token? = nil, leeway: Duration = .seconds(30), storage: Storage? = nil,
        renew: @escaping @Sendable (_ old: Token?) async throws -> Token
    ) {
        var state = State(tokens: TokenState(token))
        state.arrival = token?.left(at: .now).map { (monotonicNow(), $0) }
        self.state = Lock(state)
        self.leeway = leeway
        self.storage = storage
        self.renew = renew
    }

    /// A source of tokens whose expiry is not known: they are renewed when a server refuses them.
    ///
    /// - Parameters:
    ///   - token: the first token; nil to ask for it at the first request.
    ///   - renew: gets the token that was refused; see ``init(_:leeway:storage:renew:)``.
    @_disfavoredOverload
    public convenience init(_ token: String? = nil, renew: @escaping @Sendable (_ refused: String?) async throws -> String) {
        self.init(token.map { Token($0) }) { old in Token(try await renew(old?.value)) }
    }

    /// The present one, as servers get it; nil before the first and after `set(nil)`. It may have expired.
    public var token: String? { current?.value }

    /// The present one, with its expiry and its refresh token.
    public var current: Token? { state.withLock { $0.tokens.token } }

    /// Replaces the token: somebody has signed in, or with nil out. Whoever waits for a renewal gets this one, or fails with
    /// `authenticationFailed`, and the renewal's task is cancelled.
    public func set(_ token: Token?) {
        let moment = moment(nil)
        let (task, waiters) = state.withLock { state -> (Task<Void, Never>?, [Waiter]) in
            let ended = state.tokens.set(token)
            state.noteToken(moment, leeway: leeway)
            state.isLoaded = true
            save(token, &state)
            guard let ended else { return (nil, []) }
            return (state.takeTask(ended.renewal), state.take(ended.waiters))
        }
        task?.cancel()
        let result: Result<String, NetworkError> = token.map { .success($0.value) } ?? .failure(Self.failed(nil))
        for waiter in waiters { waiter.resume(returning: result) }
    }

    /// Replaces the token by one whose expiry is not known.
    @_disfavoredOverload
    public func set(_ token: String?) { set(token.map { Token($0) }) }

    /// A token that is good as far as anybody knows; waits for the renewal where one is needed. Cancelling the task ends the wait.
    ///
    /// - Parameter refused: one that has been refused.
    /// - Returns: the token.
    /// - Throws: ``NetworkError``: `authenticationFailed` with what the closure threw as `underlying`, or `cancelled`.
    public func token(insteadOf refused: String? = nil) async throws(NetworkError) -> String {
        try await result(insteadOf: refused, nil).get()
    }

    // MARK: For requests

    /// Whether this task is inside the closure.
    var isRenewingHere: Bool { Self.inRenewalOf.contains(ObjectIdentifier(self)) }

    /// The token without waiting; nil where that is needed. One that expires soon is renewed beside. The clock is that of the session that asks, and
    /// without one that of the session before.
    func readyToken(_ timing: (any Timing)?) -> String? {
        let moment = moment(timing)
        let action = state.withLock { $0.tokens.ready($0.age(moment, leeway: leeway)) }
        switch action {
        case .use(let token): return token.value
        case .useAndRenew(let token, let number):
            beginRenewal(number, token, insteadOf: nil)
            return token.value
        case nil, .wait, .renew: return nil
        }
    }

    /// True while the closure is at work for requests.
    package var isRenewing: Bool { state.withLock { $0.tokens.isRenewing } }

    /// The number of requests that wait for a renewal.
    package var waiterCount: Int { state.withLock { $0.waiters.count } }

    func result(insteadOf refused: String?, _ timing: (any Timing)?) async -> Result<String, NetworkError> {
        let waiter = Identifier.next()
        // Waiting for itself would never end.
        if isRenewingHere { return .failure(Self.failed(nil)) }
        let moment = moment(timing)
        // A cancel that came when the wait was over has left a note.
        defer { state.withLock { _ = $0.left.remove(waiter) } }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let action = state.withLock { state -> TokenState.Action? in
                    if state.left.remove(waiter) != nil { return nil }
                    let age = state.age(moment, leeway: leeway)
                    let action = state.tokens.ask(insteadOf: refused, waiter: waiter, age)
                    switch action {
                    case .use, .useAndRenew: break
                    case .wait, .renew: state.waiters[waiter] = continuation
                    }
                    return action
                }
                switch action {
                case nil: continuation.resume(returning: .failure(Self.cancelled))
                case .use(let token): continuation.resume(returning: .success(token.value))
                case .useAndRenew(let token, let number):
                    continuation.resume(returning: .success(token.value))
                    beginRenewal(number, token, insteadOf: nil)
                case .wait: break
                case .renew(let number, let old): beginRenewal(number, old, insteadOf: refused)
                }
            }
        } onCancel: {
            leave(waiter)
        }
    }

    // MARK: The clock

    /// The present by a session's clock, which becomes the source's where it is the first.
    private func moment(_ timing: (any Timing)?) -> Moment {
        let known = state.withLock { state -> (any Timing)? in
            if state.timing == nil, let timing {
                state.timing = timing
                state.life = nil
            }
            return state.timing
        }
        guard let known, !(known is SystemTiming) else { return Moment(now: monotonicNow(), wall: .now, isSystem: true) }
        return Moment(now: known.now(), wall: .now, isSystem: false)
    }

    // MARK: Renewing

    private func beginRenewal(_ number: UInt64, _ old: Token?, insteadOf refused: String?) {
        let inside = Self.inRenewalOf + [ObjectIdentifier(self)]
        // Nobody's in particular: it goes on when the one who began it has gone.
        let task = Task.detached { [self] in
            let result: Result<Token, NetworkError>
            do {
                result = .success(
                    try await RunningRequest.$isServed.withValue(true) {
                        try await Self.$inRenewalOf.withValue(inside) { try await fetch(number, old, insteadOf: refused) }
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

    /// Fetches the stored token, where that is still good, or a new one, which is stored before any request gets it.
    private func fetch(_ number: UInt64, _ old: Token?, insteadOf refused: String?) async throws -> Token {
        var old = old
        if let storage, state.withLock({ !$0.isLoaded && $0.tokens.token == nil }) {
            let kept = try await storage.load()
            state.withLock { $0.isLoaded = true }
            if let kept {
                let isRefused = refused.map { ExactString(kept.value) == ExactString($0) } ?? false
                if !isRefused, kept.left(at: .now).map({ $0 > .zero }) ?? true { return kept }
                old = kept
            }
        }
        let fresh = try await renew(old)
        let saving = state.withLock { state -> Task<Void, Never>? in
            guard state.tokens.accepts(number) else { return nil }
            state.isLoaded = true
            return save(fresh, &state)
        }
        await saving?.value
        return fresh
    }

    /// One after the other, in the order of the changes. Under the lock: to queue it is all that happens here.
    @discardableResult
    private func save(_ token: Token?, _ state: inout State) -> Task<Void, Never>? {
        guard let storage else { return nil }
        let task = Task.detached { [previous = state.saving] in
            await previous?.value
            // It is used all the same.
            try? await storage.save(token)
        }
        state.saving = task
        return task
    }

    private func endRenewal(_ number: UInt64, _ result: Result<Token, NetworkError>) {
        let moment = moment(nil)
        let (task, waiters) = state.withLock { state in
            let (fresh, isAccepted, isEarly) = (try? result.get(), state.tokens.accepts(number), state.tokens.isEarly(number))
            let waiters = state.take(state.tokens.renewed(number, fresh))
            if fresh != nil, isAccepted { state.noteToken(moment, leeway: leeway) }
            if fresh == nil, isEarly, let life = state.life { state.pausedUntil = moment.now &+ life.pause }
            return (state.takeTask(number), waiters)
        }
        // Let go of outside the lock.
        _ = task
        for waiter in waiters { waiter.resume(returning: result.map(\.value)) }
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
