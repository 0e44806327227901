extension Run {
    /// The effect of a `cancel()`.
    public enum CancelResult: Sendable, Equatable {
        /// Nothing of this run starts from now on, on any thread. Only a requested `onEnd` follows.
        case cancelled
        /// One call that was already admitted may be running on another thread (or around this very line); nothing follows it but a requested `onEnd`, not even
        /// another closure for the same response.
        case callbackRunning
        /// The run had ended before, or was never started.
        case alreadyEnded
    }
}

extension Run.CancelResult {
    init(_ outcome: CancelOutcome) {
        self =
            switch outcome {
            case .cancelled: .cancelled
            case .callbackRunning: .callbackRunning
            case .alreadyEnded: .alreadyEnded
            }
    }
}
