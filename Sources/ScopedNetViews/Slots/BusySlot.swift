public import ScopedNet

/// The work of one run as one spinner, or one list that refreshes, shows it: busy while the run goes on, and not while it is suspended.
///
/// Suspensions are followed where the session has a ``ViewObserver``, the end of the run always. The slot holds the view weakly, keeps nothing of the run
/// beyond its end, and never cancels it.
@MainActor public final class BusySlot<Target: BusyDisplaying>: Cancellable {
    private let view: ShownWork<Target>
    private let scope: SlotScope<BusyFollowing>
    nonisolated private var work: SlotWork<BusyFollowing> { scope.work }
    private var isBusy = false

    /// Makes a slot that follows no run.
    ///
    /// - Parameters:
    ///   - target: the view, held weakly.
    ///   - bag: ends the slot, for good. Default: none.
    public init(for target: Target, in bag: DeallocBag? = nil) {
        view = ShownWork(target) { $0.setBusy(false) }
        scope = SlotScope(in: bag)
    }

    /// True while a run is followed.
    public var isFollowing: Bool { work.content != nil }

    /// Follows a run, in place of the one before. The view is told at once whether it is busy, and then of changes alone.
    ///
    /// A list that a person has pulled to refresh stops at once where the run does not go on.
    ///
    /// - Parameters:
    ///   - run: the run; nil to follow none, which stops the view.
    ///   - following: the runs that are followed. Default: all that have not ended.
    public func bind(_ run: Run?, following: BusyFollowing = .unfinished) {
        work.cancel()
        guard let run, run.status.isExecuting, following == .unfinished || !run.status.isSuspended, let number = work.begin(following)
        else { return set(false, nil) }
        let followed = FollowedRun.follow(run) { [weak self] update in self?.take(update, number) }
        work.set(view.end(number) { followed.cancel() }, of: number)
        set(!run.status.isSuspended, number)
    }

    /// Follows no run any more, which stops the view: soon, on the main actor. Idempotent, any thread.
    nonisolated public func cancel() { work.cancel() }

    private func take(_ update: RunUpdate, _ number: UInt64) {
        guard work.content(of: number) != nil else { return }
        guard view.target != nil else { return work.cancel() }
        switch update {
        case .suspended: change(to: false, number)
        case .resumed: change(to: true, number)
        case .sent, .received: break
        case .ended:
            _ = work.end(number)
            change(to: false, number)
        }
    }

    private func change(to value: Bool, _ number: UInt64) { if value != isBusy { set(value, number) } }

    private func set(_ value: Bool, _ number: UInt64?) {
        isBusy = value
        if let number { value ? view.begin(number) : view.forget(number) } else { view.forget() }
        view.target?.setBusy(value)
    }
}

/// The runs that a ``BusySlot`` follows.
public enum BusyFollowing: Sendable, Hashable {
    /// All that have not ended: one that is suspended is busy when it goes on. The default.
    case unfinished
    /// Those alone that go on when they are bound: one that is suspended then is not followed at all.
    case running
}
