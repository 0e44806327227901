import Synchronization

extension RunCore {
    private var reachedStep: RunProgress { RunProgress(rawValue: progress.load(ordering: .relaxed)) ?? .unsent }

    /// The thread that does the run's work; one at a time.
    func note(_ step: RunProgress) { progress.store(reachedStep.after(step).rawValue, ordering: .relaxed) }

    var reachedPhase: NetworkError.Phase { reachedStep.phase }
}
