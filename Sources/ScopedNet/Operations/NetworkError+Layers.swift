extension NetworkError {
    /// Makes the error of a layer's work that was cancelled before a request of it could say so.
    public static func cancelled(_ reason: CancelReason) -> NetworkError { .cancelled(reason, runID: 0, phase: .preparing) }

    /// Makes the error of a layer that refuses a call before anything is sent: ``Code/invalidParameters``, with the reason as ``underlying``.
    public static func refused(_ reason: any Error) -> NetworkError {
        NetworkError(.invalidParameters, phase: .preparing, message: "refused before it was sent: \(reason)", underlying: reason)
    }

    /// Makes the error of a layer that does not take a response for what it is to be: ``Code/badResponse``.
    public static func badResponse(_ message: String) -> NetworkError { NetworkError(.badResponse, phase: .receiving, message: message) }
}
