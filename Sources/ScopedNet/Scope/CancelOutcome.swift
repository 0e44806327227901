/// The effect of cancelling a member; of a run it is told as `Run.CancelResult`.
package enum CancelOutcome: Sendable, Equatable {
    /// Nothing of it starts from now on, on any thread.
    case cancelled
    /// One call that was already admitted may be running on another thread, or around the cancel.
    case callbackRunning
    /// It had ended before, or was never started.
    case alreadyEnded
}
