public import ScopedNet
import SystemSupport

/// Tells the views of a program about the runs of its sessions: progress, suspension, and the activity of the network.
///
/// ```swift
/// let views = ViewObserver()
/// var configuration = Session.Configuration()
/// configuration.observers.append(views)
/// ```
///
/// One serves any number of sessions. ``ProgressSlot`` and ``BusySlot`` find it by themselves; ``NetworkActivityIndicator`` is made with it. It keeps
/// nothing of a run beyond the end. Any thread.
public final class ViewObserver: RequestObserver {
    private struct State: Sendable {
        var followers: [UInt64: [FollowedRun]] = [:]
        var active = ActiveRuns()
        var listeners: [UInt64: Listener] = [:]
    }

    private struct Listener: Sendable {
        let call: @Sendable () -> Void
    }

    private let state = Lock(State())

    /// Makes an observer.
    public init() {}

    /// The number of runs whose transfers go on at this moment.
    public var activeRuns: Int { state.withLock { $0.active.ids.count } }

    /// Receives an event of a run.
    public func observe(_ event: RequestEvent) {
        let (update, id) = (RunUpdate(event.kind), event.run.id)
        let step = ActiveRuns.Step(event.kind)
        guard update != nil || step != nil else { return }
        let (followers, listeners) = state.withLock { state in
            let changes = step.map { state.active.take($0, of: id) } ?? false
            return (update == nil ? [] : state.followers[id] ?? [], changes ? Array(state.listeners.values) : [])
        }
        if let update { for follower in followers { follower.send(update, at: event.time) } }
        for listener in listeners { listener.call() }
    }

    // MARK: Followers

    func add(_ follower: FollowedRun, to run: UInt64) { state.withLock { $0.followers[run, default: []].append(follower) } }

    func remove(_ follower: FollowedRun, from run: UInt64) {
        // The last reference may be the table's: it goes outside the lock.
        let removed = state.withLock { state -> FollowedRun? in
            guard let place = state.followers[run]?.firstIndex(where: { $0 === follower }) else { return nil }
            let removed = state.followers[run]?.remove(at: place)
            if state.followers[run]?.isEmpty == true { state.followers[run] = nil }
            return removed
        }
        withExtendedLifetime(removed) {}
    }

    /// Those who follow a run: for tests.
    var followerCount: Int { state.withLock { $0.followers.values.reduce(0) { $0 + $1.count } } }

    // MARK: Activity

    /// Calls `listener` on any thread when the set of active runs has changed.
    func listen(_ listener: @escaping @Sendable () -> Void) -> UInt64 {
        let id = Identifier.next()
        state.withLock { $0.listeners[id] = Listener(call: listener) }
        return id
    }

    func stopListening(_ id: UInt64) {
        let removed = state.withLock { $0.listeners.removeValue(forKey: id) }
        withExtendedLifetime(removed) {}
    }
}
