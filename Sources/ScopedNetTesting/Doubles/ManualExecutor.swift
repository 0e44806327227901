public import ScopedNet
import SystemSupport

/// A serial place whose work is done when the test says so, on the test's thread: the delivery executor of a session, or the executor of an
/// actor.
///
/// ```swift
/// let executor = ManualExecutor()
/// configuration.use(executor)
/// …                              // a result has arrived, and waits to be delivered
/// run.cancel()                   // wins
/// executor.runAll()
/// ```
public final class ManualExecutor: SerialExecutor, DeliveryTarget {
    private enum Work: Sendable {
        case job(UnownedJob)
        case closure(@Sendable () -> Void)
    }

    private struct State {
        var work: [Work] = []
        var isRunning = false
    }

    private let state = Lock(State())
    private let waiters = CountWaiters()

    /// Makes an executor without work.
    public init() {}

    /// What waits to be run.
    public var pendingCount: Int { state.withLock { $0.work.count } }

    /// Waits until so many things wait to be run, or the task is cancelled.
    public func waitForWork(_ count: Int = 1) async {
        await waiters.wait(for: count) { [self] in pendingCount }
    }

    /// Runs what came first.
    ///
    /// - Returns: false when nothing was there, or something is being run.
    @discardableResult
    public func runNext() -> Bool {
        let next = state.withLock { state -> Work? in
            guard !state.isRunning, !state.work.isEmpty else { return nil }
            state.isRunning = true
            return state.work.removeFirst()
        }
        guard let next else { return false }
        switch next {
        case .job(let job): job.runSynchronously(on: asUnownedSerialExecutor())
        case .closure(let work): work()
        }
        state.withLock { $0.isRunning = false }
        return true
    }

    /// Runs everything, also what comes meanwhile.
    public func runAll() { while runNext() {} }

    // MARK: The other side

    /// Takes a job of an actor, until the test runs it.
    public func enqueue(_ job: consuming ExecutorJob) { add(.job(UnownedJob(job))) }

    /// The reference that an actor returns as its `unownedExecutor`; keep this object for as long as the actor.
    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    package func schedule(_ work: @escaping @Sendable () -> Void) { add(.closure(work)) }

    private func add(_ work: Work) {
        let count = state.withLock { state in
            state.work.append(work)
            return state.work.count
        }
        waiters.wake(count)
    }
}
