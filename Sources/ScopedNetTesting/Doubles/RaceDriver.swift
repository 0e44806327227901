internal import Dispatch
public import ScopedNet
import SystemSupport

/// Decides races: stops a run of a session at one of its atomic steps, and lets a cancel, a bag's end or a completion go first.
///
/// ```swift
/// let driver = RaceDriver(session)
/// driver.at(.beforeAdmission) { run in run.cancel() }          // wins against the result
/// driver.at(.afterAdmission) { run in run.cancel() }           // comes too late
/// ```
///
/// The steps are reached through a doorway that is empty in release builds: look at ``isAvailable``. Keep the driver for as long as it shall
/// work.
public final class RaceDriver: Sendable {
    #if DEBUG
    /// Whether the library was built with its doorway.
    public static let isAvailable = true
    #else
    /// False in release builds, where the steps cannot be reached.
    public static let isAvailable = false
    #endif

    private let agent: RequestAgent
    private let session: Session
    private let visitors = Lock<[Int]>([])
    private let stops = Lock<[RaceStop]>([])

    /// Looks at the runs of this session only.
    public init(_ session: Session) {
        self.session = session
        agent = session.agent
    }

    deinit {
        #if DEBUG
        for number in visitors.withLock({ $0 }) { StepDoor.remove(number) }
        #endif
        for stop in stops.withLock({ $0 }) { stop.go() }
    }

    /// Does something when the first run takes this step, once, on the thread that takes it: there, everything else stands still.
    public func at(_ step: RaceStep, do action: @escaping @Sendable (Run) -> Void) {
        #if DEBUG
        let isDone = Lock(false)
        let number = StepDoor.add { [weak session, agent] taken, id in
            guard taken == step.step, let core = agent.liveRuns().first(where: { $0.id == id && $0.session === session }) else { return }
            let isFirst = isDone.withLock { isDone in
                defer { isDone = true }
                return !isDone
            }
            if isFirst { action(Run(core: core, token: nil)) }
        }
        visitors.withLock { $0.append(number) }
        #endif
    }

    /// Stops the thread on which the first run takes this step, until ``RaceStop/go()``.
    public func stop(at step: RaceStep) -> RaceStop {
        let stop = RaceStop()
        stops.withLock { $0.append(stop) }
        at(step) { stop.hold($0) }
        return stop
    }
}

/// A place where a run's thread stands still.
public final class RaceStop: Sendable {
    private struct State {
        var run: Run?
        var isOpen = false
        var waiters: [CheckedContinuation<Run, Never>] = []
    }

    private let state = Lock(State())
    private let gate = DispatchSemaphore(value: 0)

    /// Waits until a run stands there.
    public func reached() async -> Run {
        await withCheckedContinuation { continuation in
            let run = state.withLock { state -> Run? in
                if state.run == nil { state.waiters.append(continuation) }
                return state.run
            }
            if let run { continuation.resume(returning: run) }
        }
    }

    /// The run goes on. A stop that was not reached yet stops nobody any more.
    public func go() {
        let run = state.withLock { state in
            defer {
                state.isOpen = true
                state.run = nil
            }
            return (isFirst: !state.isOpen, run: state.run)
        }
        if run.isFirst { gate.signal() }
    }

    fileprivate func hold(_ run: Run) {
        let waiters = state.withLock { state -> [CheckedContinuation<Run, Never>] in
            guard !state.isOpen else { return [] }
            state.run = run
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: run) }
        gate.wait()
        gate.signal()
    }
}
