extension NetworkError {
    /// Makes the error of a layer's work that was cancelled before a request of it could say so.
    public static func cancelled(_ reason: CancelReason) -> NetworkError { .cancelled(reason, runID: 0, phase: .preparing) }
}
