public import ScopedNet
import SystemSupport

/// The time of a session, moved by hand: waits of retries and queues fire when the test says so, on its thread.
///
/// ```swift
/// let clock = ManualClock()
/// configuration.use(clock)
/// …
/// clock.advance(by: .seconds(5))
/// ```
public final class ManualClock: Timing {
    private struct Timer {
        let number: Int
        let due: UInt64
        let action: @Sendable () -> Void
    }

    private struct State {
        var now: UInt64 = 1_000_000_000
        var next = 0
        var armed: [Timer] = []
    }

    private let state = Lock(State())
    private let waiters = CountWaiters()

    /// Makes a clock that stands still.
    public init() {}

    /// Timers that neither fired nor were cancelled.
    public var armedCount: Int { state.withLock { $0.armed.count } }

    /// How long the next timer still waits; nil when there is none.
    public var nextWait: Duration? {
        state.withLock { state in
            state.armed.map(\.due).min().map { .nanoseconds(Int64(clamping: $0 > state.now ? $0 - state.now : 0)) }
        }
    }

    /// Waits until so many timers are armed, or the task is cancelled.
    public func waitForTimers(_ count: Int) async {
        await waiters.wait(for: count) { [self] in armedCount }
    }

    /// Time passes; what is due by then fires in order, on this thread, also what is armed meanwhile.
    public func advance(by duration: Duration) {
        let target = state.withLock { $0.now &+ duration.nanoseconds }
        while let action = takeFirst(dueBy: target) { action() }
        state.withLock { $0.now = max($0.now, target) }
    }

    /// Time jumps to the timer that is due first, and fires it on this thread.
    ///
    /// - Returns: false when there is none.
    @discardableResult
    public func fireNext() -> Bool {
        guard let action = takeFirst(dueBy: .max) else { return false }
        action()
        return true
    }

    /// The same with the timer that is due last.
    @discardableResult
    public func fireLast() -> Bool {
        let action = state.withLock { state -> (@Sendable () -> Void)? in
            guard let last = state.armed.indices.max(by: { state.armed[$0].due < state.armed[$1].due }) else { return nil }
            state.now = max(state.now, state.armed[last].due)
            return state.armed.remove(at: last).action
        }
        action?()
        return action != nil
    }

    private func takeFirst(dueBy target: UInt64) -> (@Sendable () -> Void)? {
        state.withLock { state in
            guard let first = state.armed.indices.min(by: { state.armed[$0].due < state.armed[$1].due }), state.armed[first].due <= target
            else { return nil }
            state.now = max(state.now, state.armed[first].due)
            return state.armed.remove(at: first).action
        }
    }

    // MARK: The library's side

    package func now() -> UInt64 { state.withLock { $0.now } }

    package func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Cancellable {
        let (number, count) = state.withLock { state in
            state.next += 1
            state.armed.append(Timer(number: state.next, due: state.now &+ delay.nanoseconds, action: action))
            return (state.next, state.armed.count)
        }
        waiters.wake(count)
        return AnyCancellable { [self] in disarm(number) }
    }

    private func disarm(_ number: Int) {
        // Let go outside the lock: it may hold a run.
        let timer = state.withLock { state in
            state.armed.firstIndex { $0.number == number }.map { state.armed.remove(at: $0) }
        }
        _ = timer
    }
}

extension Session.Configuration {
    /// Lets retries and queue timeouts wait for this clock. The transport's own five clocks are the transport's.
    ///
    /// `jitter` is the number from 0 to 1 that stands for chance in a retry's wait.
    public mutating func use(_ clock: ManualClock, jitter: Double = 0.5) {
        timing = clock
        random = { jitter }
    }

    /// Callbacks that belong to no actor run when the test runs this executor.
    public mutating func use(_ executor: ManualExecutor) { deliveryTarget = executor }
}
