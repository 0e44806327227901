public import ScopedNet

/// The errors of runs, shown by one view.
///
/// It follows any number of runs at a time. A run that succeeds or is cancelled shows nothing. The slot holds the view weakly, and keeps nothing of a run
/// beyond its end.
@MainActor public final class ErrorSlot<Target: ErrorPresenting>: Cancellable {
    private weak var target: Target?
    private let scope: SlotScope<Int>
    private let runs = FollowedRuns()

    /// Makes a slot that follows no run.
    ///
    /// - Parameters:
    ///   - target: the view, held weakly.
    ///   - bag: ends the slot, for good. Default: none.
    public init(for target: Target, in bag: DeallocBag? = nil) {
        self.target = target
        scope = SlotScope(in: bag)
        if let number = scope.work.begin(0) { scope.work.set(runs, of: number) }
    }

    /// Shows the error of a run, if it comes to one; with the next work of the main actor where it has.
    ///
    /// - Parameter run: the run. Following one twice that goes on shows its error once.
    public func follow(_ run: Run) {
        guard target != nil, !scope.work.isEnded else { return }
        runs.add(run) { [weak self] error in self?.present(error) }
    }

    /// Shows an error now; a cancel is not shown.
    ///
    /// - Parameter error: an error of any type.
    public func present(_ error: any Error) {
        guard !scope.work.isEnded, !error.isCancellation else { return }
        target?.present(ErrorText(error))
    }

    /// Follows no run any more. Idempotent, any thread.
    nonisolated public func cancel() { runs.cancel() }
}
