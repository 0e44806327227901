public import ScopedNet

/// The progress of one run in one view: at most one source at a time, detached at its end.
///
/// The session needs a ``ViewObserver``; without one the view shows that the progress is not known until the run ends. The slot holds the view
/// weakly, and keeps nothing of the run beyond its end. It never cancels the run.
@MainActor public final class ProgressSlot<Target: ProgressDisplaying>: Cancellable {
    private let view: ShownWork<Target>
    private let scope: SlotScope<Bool>
    nonisolated private var work: SlotWork<Bool> { scope.work }

    /// Makes a slot that follows no run.
    ///
    /// - Parameters:
    ///   - target: the view, held weakly.
    ///   - bag: ends the slot, for good. Default: none.
    public init(for target: Target, in bag: DeallocBag? = nil) {
        view = ShownWork(target) { $0.endProgress() }
        scope = SlotScope(in: bag)
    }

    /// True while a run is followed.
    public var isFollowing: Bool { work.content != nil }

    /// Follows a run, in place of the one before.
    ///
    /// The view shows that the progress is not known until the first bytes are told of, and then the share that has come, where the length is known. A run that
    /// has ended is not followed.
    ///
    /// - Parameters:
    ///   - run: the run; nil to follow none.
    ///   - direction: the body that counts. Default: that of the response.
    ///   - animated: true where changes may be drawn as movements. Default: true.
    public func bind(_ run: Run?, direction: Run.Progress.Direction = .receiving, animated: Bool = true) {
        work.cancel()
        view.end()
        guard let run, let target = view.target, run.status.isExecuting, let number = work.begin(animated) else { return }
        let followed = FollowedRun.follow(run) { [weak self] update in self?.take(update, direction, number) }
        work.set(view.end(number) { followed.cancel() }, of: number)
        view.begin(number)
        target.display(.indeterminate, animated: false)
        // The view may have asked for another run.
        if work.content(of: number) != nil { target.setPaused(run.status.isSuspended) }
    }

    /// Follows no run any more: nothing is shown of it from here on, and the view is told on the main actor, soon, that it is over. Idempotent, any
    /// thread.
    nonisolated public func cancel() { work.cancel() }

    private func take(_ update: RunUpdate, _ direction: Run.Progress.Direction, _ number: UInt64) {
        guard let animated = work.content(of: number) else { return }
        guard let target = view.target else { return work.cancel() }
        switch (update, direction) {
        case (.suspended, _): target.setPaused(true)
        case (.resumed, _): target.setPaused(false)
        case (.sent(let progress), .sending), (.received(let progress), .receiving):
            target.display(ProgressValue(progress.fraction), animated: animated)
        case (.sent, .receiving), (.received, .sending): break
        case (.ended, _):
            _ = work.end(number)
            view.end(number)
        }
    }
}
