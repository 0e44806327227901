import ScopedNet
import SystemSupport

/// News of a run for a view.
enum RunUpdate: Sendable {
    case suspended
    case resumed
    case sent(TransferProgress)
    case received(TransferProgress)
    /// The run is over; with its error, where it failed.
    case ended(NetworkError?)

    /// The news of an event; nil for others.
    init?(_ kind: RequestEvent.Kind) {
        switch kind {
        case .suspended: self = .suspended
        case .resumed: self = .resumed
        case .sent(let progress): self = .sent(progress)
        case .received(let progress): self = .received(progress)
        case .finished(let completion): self = .ended(completion.error)
        case .cancelled: self = .ended(nil)
        default: return nil
        }
    }
}

/// One run as one view follows it: on the main actor, in order, up to the end of the run or a cancel, whichever comes first.
///
/// Where the session has no ``ViewObserver``, the end alone is told. With one it is told twice, and the first time counts.
final class FollowedRun: Cancellable {
    private struct State: Sendable {
        var tell: (@MainActor @Sendable (RunUpdate) -> Void)?
    }

    // No `Run`: a request that is cancelled on release is counted by its handles.
    private let id: UInt64
    /// News from before are in the status of the run, and would be told out of turn.
    private let start = ContinuousClock.now
    private let observer: ViewObserver?
    private let state: Lock<State>

    private init(_ run: Run, _ tell: @escaping @MainActor @Sendable (RunUpdate) -> Void) {
        id = run.id
        observer = run.core.session.configuration.observers.lazy.compactMap { $0 as? ViewObserver }.first
        state = Lock(State(tell: tell))
    }

    /// Follows a run; what is asked of ``Run/status`` from here on is not older than the news.
    static func follow(_ run: Run, _ tell: @escaping @MainActor @Sendable (RunUpdate) -> Void) -> FollowedRun {
        let followed = FollowedRun(run, tell)
        followed.observer?.add(followed, to: run.id)
        Task { [weak followed, core = run.core] in
            await core.agent.ended(core)
            if case .failure(let error)? = core.result { followed?.send(.ended(error)) } else { followed?.send(.ended(nil)) }
        }
        return followed
    }

    /// Tells on the main actor, never from within. Any thread.
    func send(_ update: RunUpdate, at time: ContinuousClock.Instant) {
        if time >= start { send(update) }
    }

    private func send(_ update: RunUpdate) {
        DeliveryLane.main.enqueue(
            .work { [self] in
                let tell = state.withLock { $0.tell }
                if case .ended = update { cancel() }
                MainActor.assumeIsolated { tell?(update) }
            })
    }

    /// Nothing is told from here on, if the main actor calls it; else nothing that the main actor has not begun. Any thread.
    func cancel() {
        let former = state.withLock { state in
            let former = state
            state.tell = nil
            return former
        }
        observer?.remove(self, from: id)
        withExtendedLifetime(former) {}
    }
}
