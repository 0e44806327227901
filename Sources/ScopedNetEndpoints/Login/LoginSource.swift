public import ScopedNet

/// A login that several calls share: those that meet "login needed" wait while the program logs in once for all of them.
///
/// ```swift
/// let login = LoginSource { [weak pages] in try await pages?.askForPassword() }
/// struct Stories: APIService {
///     let login: LoginSource
///     var interceptors: [any Interceptor] { [login.interceptor { $0.head.status == 401 }] }
/// }
/// ```
///
/// The first call that needs it begins the closure; it and all others that need it meanwhile wait, and then are sent again or fail together. A call that was
/// refused with what held before the last login is sent again without another one. A call that is cancelled stops waiting, and when the last one has gone the
/// closure's task is cancelled. Calls that the closure makes itself, with `await`, do not wait for it.
///
/// A token that is renewed without a person is `TokenSource` of ScopedNet, with which streams and downloads go on, too. For these a person is asked by
/// ``authentication(_:)``. Any thread may use it. It holds the closure: capture owners weakly.
public final class LoginSource: Sendable {
    /// The error of calls whose login the program has given up.
    public struct Cancelled: Error, Hashable, Sendable {
        /// Makes the error.
        public init() {}
    }

    private typealias Waiter = CheckedContinuation<Result<Void, any Error>, Never>

    private struct State: Sendable {
        /// Counts logins that have succeeded.
        var logins = 0
        var waiters: [UInt64: Waiter] = [:]
        /// The one under way, with its number.
        var task: (number: UInt64, task: Task<Void, Never>)?
        /// One that was given up, and may take its time to end.
        var previous: Task<Void, Never>?
        var last: UInt64 = 0

        mutating func takeWaiters() -> [Waiter] {
            defer { waiters = [:] }
            return Array(waiters.values)
        }
    }

    private let state = Lock(State())
    private let logIn: @Sendable () async throws -> Void

    @TaskLocal private static var inLoginOf: [ObjectIdentifier] = []

    /// Makes a source.
    ///
    /// - Parameter logIn: logs in, for as long as it takes, and returns; never twice at a time. Throwing ``Cancelled``, or anything else, fails all who wait
    ///   with that.
    public init(_ logIn: @escaping @Sendable () async throws -> Void) { self.logIn = logIn }

    /// The calls that wait.
    public var waitingCount: Int { state.withLock { $0.waiters.count } }

    /// Gives the login up: all who wait fail with ``Cancelled``, and the closure's task is cancelled. Nothing where none is under way.
    public func cancel() { end(nil, .failure(Cancelled())) }

    /// Logs in, or waits for the login that is under way. Called by the closure itself it returns at once.
    ///
    /// - Throws: what the closure throws, or ``Cancelled``; `CancellationError` where the task is cancelled.
    public func login() async throws { try await login(after: state.withLock { $0.logins }) }

    /// Makes the interceptor for ``APIService/interceptors``, around the call: it sees what came, and sends the call again after the login.
    ///
    /// A call that still needs it after two logins has the refusal as its result. The wait counts for `Timeouts.interceptor` and `Timeouts.total`: set the
    /// first to nil where people take their time.
    ///
    /// - Parameters:
    ///   - prepare: called before each sending, to add what the login has brought, such as a field. Default: nothing.
    ///   - isNeeded: true for a response that says "login needed", by its status or in its body.
    /// - Returns: the interceptor.
    public func interceptor(
        prepare: @escaping @Sendable (inout InterceptedRequest) -> Void = { _ in },
        isNeeded: @escaping @Sendable (InterceptedResponse) -> Bool
    ) -> any Interceptor {
        LoginInterceptor(source: self, prepare: prepare, isNeeded: isNeeded)
    }

    /// Makes the answer to a challenge (401) of any kind of request, streams and downloads among them, for `RequestOptions.authentication`.
    ///
    /// - Parameter credential: the credential after a login; nil delivers the refusal.
    /// - Returns: the value for the options of a session or a request.
    public func authentication(_ credential: @escaping @Sendable () async -> Credential?) -> Authentication {
        .handler { [self] context in
            // The challenge may be older than the last login: what that has brought is tried first.
            if context.previousFailureCount == 0, logins > 0, let known = await credential() { return .use(known) }
            // Refused after a login: another one would not help.
            guard context.previousFailureCount < 2 else { return .deliver }
            do { try await login() } catch { return .cancel(error) }
            guard let fresh = await credential() else { return .deliver }
            return .use(fresh)
        }.except(where: { [self] in isLogin })
    }

    var isLogin: Bool { Self.inLoginOf.contains(ObjectIdentifier(self)) }
    var logins: Int { state.withLock { $0.logins } }

    func login(after logins: Int) async throws {
        // It would wait for itself.
        if isLogin { return }
        let id = state.withLock { state in
            state.last += 1
            return state.last
        }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (waiter: Waiter) in enter(id, after: logins, waiter) }
        } onCancel: {
            leave(id)
        }
        try result.get()
    }

    private func enter(_ id: UInt64, after logins: Int, _ waiter: Waiter) {
        let sources = Self.inLoginOf + [ObjectIdentifier(self)]
        let isOver = state.withLock { state in
            // It has happened since.
            if state.logins > logins { return true }
            state.waiters[id] = waiter
            guard state.task == nil else { return false }
            // Under the lock: a moment later it could have been given up, and nobody would know of it.
            state.task = (id, begin(id, behind: state.previous, after: state.logins, sources))
            state.previous = nil
            return false
        }
        if isOver { return waiter.resume(returning: .success(())) }
        // A cancel that came before this has found nobody.
        if Task.isCancelled { leave(id) }
    }

    /// Detached: it belongs to no bag. That of the first who needs it may end while others wait.
    private func begin(
        _ number: UInt64, behind previous: Task<Void, Never>?, after logins: Int, _ sources: [ObjectIdentifier]
    ) -> Task<Void, Never> {
        Task.detached { [self] in
            // One that was given up may still show its dialog, and may even succeed.
            await previous?.value
            if self.logins > logins { return end(number, .success(())) }
            // Given up before it began: it shows none.
            if Task.isCancelled { return }
            let result: Result<Void, any Error>
            do {
                try await Self.$inLoginOf.withValue(sources) { try await logIn() }
                result = .success(())
            } catch { result = .failure(error) }
            end(number, result)
        }
    }

    private func leave(_ id: UInt64) {
        let (waiter, task) = state.withLock { state -> (Waiter?, Task<Void, Never>?) in
            guard let waiter = state.waiters.removeValue(forKey: id) else { return (nil, nil) }
            guard state.waiters.isEmpty, let known = state.task else { return (waiter, nil) }
            (state.task, state.previous) = (nil, known.task)
            return (waiter, known.task)
        }
        task?.cancel()
        waiter?.resume(returning: .failure(CancellationError()))
    }

    /// Nil for the login that is under way, whichever that is.
    private func end(_ number: UInt64?, _ result: Result<Void, any Error>) {
        let (waiters, task) = state.withLock { state -> ([Waiter], Task<Void, Never>?) in
            if case .success = result { state.logins += 1 }
            guard let known = state.task, number == nil || known.number == number else { return ([], nil) }
            state.task = nil
            if number == nil { state.previous = known.task }
            return (state.takeWaiters(), known.task)
        }
        if number == nil { task?.cancel() }
        for waiter in waiters { waiter.resume(returning: result) }
    }
}

/// Sends a call again after the login that it needs.
private struct LoginInterceptor: Interceptor {
    let source: LoginSource
    let prepare: @Sendable (inout InterceptedRequest) -> Void
    let isNeeded: @Sendable (InterceptedResponse) -> Bool

    func intercept(
        _ request: InterceptedRequest, context: InterceptedRequest.Context, next: InterceptedRequest.Next
    ) async throws -> InterceptedResponse {
        var request = request
        for _ in 0..<2 {
            let logins = source.logins
            let response = try await send(request, next)
            // Requests of the login itself do not wait for it.
            guard isNeeded(response), !source.isLogin else { return response }
            try await source.login(after: logins)
            // A refusal that could be stored was.
            if request.headers[.cacheControl] == nil { request.headers[.cacheControl] = "no-cache" }
        }
        return try await send(request, next)
    }

    private func send(_ request: InterceptedRequest, _ next: InterceptedRequest.Next) async throws -> InterceptedResponse {
        var request = request
        prepare(&request)
        return try await next(request)
    }
}
