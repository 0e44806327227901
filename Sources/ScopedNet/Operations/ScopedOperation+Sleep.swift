import SystemSupport

extension ScopedOperation {
    /// The end of a wait of ``sleep(for:orUntilNetworkChanges:)``.
    public enum Wakeup: Sendable, Hashable {
        /// The time is over.
        case time
        /// The network has become another one, or is back.
        case network
        /// The operation has ended, or the task was cancelled.
        case cancelled
    }

    /// The time on the clock of a session, from a moment that does not matter; `ManualClock` turns it by hand in tests.
    public static func now(of session: Session) -> Duration { .nanoseconds(Int64(clamping: session.timing.now())) }

    /// Waits on the session's clock, which `ManualClock` turns by hand in tests.
    ///
    /// - Parameters:
    ///   - duration: how long; nil to wait for the network, or for the end, alone.
    ///   - networkEndsIt: true to return also when the network becomes another one or comes back, by the session's
    ///     ``Session/Configuration/connectivity``. Default: false.
    /// - Returns: the reason for which it returns.
    public func sleep(for duration: Duration?, orUntilNetworkChanges networkEndsIt: Bool = false) async -> Wakeup {
        let sleep = OperationSleep()
        let token = steps.insert(sleep)
        defer { token.remove() }
        return await withTaskCancellationHandler {
            await sleep.wait { arms in
                if let duration { arms.append(core.session.timing.schedule(after: duration) { sleep.end(.time) }) }
                if networkEndsIt, let source = core.session.link.connectivitySource() {
                    arms.append(source.watch { sleep.end(.network) })
                }
            }
        } onCancel: {
            sleep.cancel()
        }
    }
}

/// One wait of an operation: whoever comes first ends it.
private final class OperationSleep: Cancellable {
    private struct State: Sendable {
        var continuation: CheckedContinuation<ScopedOperation.Wakeup, Never>?
        var wakeup: ScopedOperation.Wakeup?
        var arms: [any Cancellable] = []
    }

    private let state = Lock(State())

    func cancel() { end(.cancelled) }

    func end(_ wakeup: ScopedOperation.Wakeup) {
        let (continuation, arms) = state.withLock { state in
            guard state.wakeup == nil else { return (nil as CheckedContinuation<ScopedOperation.Wakeup, Never>?, [any Cancellable]()) }
            state.wakeup = wakeup
            defer { (state.continuation, state.arms) = (nil, []) }
            return (state.continuation, state.arms)
        }
        for arm in arms { arm.cancel() }
        continuation?.resume(returning: wakeup)
    }

    func wait(_ arm: (inout [any Cancellable]) -> Void) async -> ScopedOperation.Wakeup {
        // Armed first: what ends it in between is found below.
        var arms: [any Cancellable] = []
        arm(&arms)
        let armed = arms
        return await withCheckedContinuation { continuation in
            let over = state.withLock { state in
                if state.wakeup == nil { (state.continuation, state.arms) = (continuation, armed) }
                return state.wakeup
            }
            guard let over else { return }
            for arm in armed { arm.cancel() }
            continuation.resume(returning: over)
        }
    }
}
