public import ScopedNet

/// The progress of one run in one view: at most one source at a time, detached at its end.
///
/// The session needs a ``ViewObserver``; without one the view shows that the progress is not known until the run ends. The slot holds the view
/// weakly, and keeps nothing of the run beyond its end. It never cancels the run.
@MainActor public final class ProgressSlot<Target: ProgressDisplaying>: Cancellable {
    private weak var target: Target?
    private let scope: SlotScope<Bool>
    nonisolated private var work: SlotWork<Bool> { scope.work }

    /// Makes a slot that follows no run.
    ///
    /// - Parameters:
    ///   - target: the view, held weakly.
    ///   - bag: ends the slot, for good. Default: none.
    public init(for target: Target, in bag: DeallocBag? = nil) {
        self.target = target
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
        detach()
        guard let run, let target, run.status.isExecuting, let number = work.begin(animated) else { return }
        let followed = FollowedRun.follow(run) { [weak self] update in self?.take(update, direction, number) }
        work.set(followed, of: number)
        target.display(.indeterminate, animated: false)
        target.setPaused(run.status.isSuspended)
    }

    /// Follows no run any more; nothing is shown of it from here on. Idempotent, any thread. The view is not told.
    nonisolated public func cancel() { work.cancel() }

    /// Leaves the run before, if there is one.
    private func detach() {
        guard work.content != nil else { return }
        work.cancel()
        target?.endProgress()
    }

    private func take(_ update: RunUpdate, _ direction: Run.Progress.Direction, _ number: UInt64) {
        guard let animated = work.content(of: number) else { return }
        guard let target else { return work.cancel() }
        switch (update, direction) {
        case (.suspended, _): target.setPaused(true)
        case (.resumed, _): target.setPaused(false)
        case (.sent(let progress), .sending), (.received(let progress), .receiving):
            target.display(ProgressValue(progress.fraction), animated: animated)
        case (.sent, .receiving), (.received, .sending): break
        case (.ended, _):
            _ = work.end(number)
            target.endProgress()
        }
    }
}
