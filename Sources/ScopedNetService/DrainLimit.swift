#if ServiceLifecycle
import ScopedNet
import ServiceLifecycle
import SystemSupport

/// The time that running requests have after a shutdown has begun: one limit for all services that await requests of a session.
final class DrainLimit: ShutdownListener {
    private let limit: Duration?
    private let takesLastRequests: Bool
    private let timing: any Timing
    /// Set by the first service that is told to end.
    private let deadline = Lock<UInt64?>(nil)

    init(_ ending: SessionService.Ending, _ session: Session) {
        switch ending.kind {
        case .cancel: (limit, takesLastRequests) = (.zero, false)
        case .drain(let limit): (self.limit, takesLastRequests) = (limit, true)
        }
        timing = session.configuration.timing
    }

    /// What is left of the limit, which begins with the first call; nil without a limit.
    func timeLeft() -> Duration? {
        guard let limit else { return nil }
        let now = timing.now()
        let end = deadline.withLock { deadline in
            let end = deadline ?? now &+ limit.wholeNanoseconds
            deadline = end
            return end
        }
        return .nanoseconds(Int64(clamping: end > now ? end - now : 0))
    }

    func listening<Result: Sendable>(
        _ operation: () async -> Result, onExpiry: @escaping @Sendable () -> Void
    ) async -> Result {
        // Where running requests are cancelled, one that a service sends while it ends is none of those.
        if Task.isShuttingDownGracefully, !takesLastRequests { return await operation() }
        let timer = Lock(TimerState.none)
        defer { timer.withLock { $0.end() }?.cancel() }
        return await withGracefulShutdownHandler {
            await operation()
        } onGracefulShutdown: { [self] in
            guard let left = timeLeft() else { return }
            let scheduled = timing.schedule(after: left, onExpiry)
            if timer.withLock({ $0.begin(scheduled) }) { scheduled.cancel() }
        }
    }
}

/// The timer of one awaited request.
private enum TimerState {
    case none, running(any Cancellable), ended

    /// - Returns: true when the request is over and the timer not needed.
    mutating func begin(_ timer: any Cancellable) -> Bool {
        if case .ended = self { return true }
        self = .running(timer)
        return false
    }

    mutating func end() -> (any Cancellable)? {
        defer { self = .ended }
        if case .running(let timer) = self { return timer }
        return nil
    }
}

extension Duration {
    /// Not negative; a limit beyond 292 years is none.
    fileprivate var wholeNanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        return UInt64(clamping: seconds) &* 1_000_000_000 &+ UInt64(clamping: attoseconds / 1_000_000_000)
    }
}
#endif
