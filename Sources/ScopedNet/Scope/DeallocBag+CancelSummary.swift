extension DeallocBag {
    /// The result of ending a bag or cancelling its members: a count for each outcome.
    public struct CancelSummary: Sendable, Equatable {
        /// Nothing of these starts any more.
        public var cancelled = 0
        /// One call of these was already admitted and may be running on another thread.
        public var callbackRunning = 0
        /// These had ended before, or were never started.
        public var alreadyEnded = 0
        /// Cancelled like ``cancelled``: nothing of these starts any more. They are torn down in the background because there are many.
        public var tearingDown = 0

        package init() {}

        package mutating func add(_ result: CancelOutcome) {
            switch result {
            case .cancelled: cancelled += 1
            case .callbackRunning: callbackRunning += 1
            case .alreadyEnded: alreadyEnded += 1
            }
        }
    }
}
