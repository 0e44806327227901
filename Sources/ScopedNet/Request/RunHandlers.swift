/// The closures of one run. Moved out and destroyed exactly once, by whoever wins the run's last step.
package struct RunHandlers<Value: Sendable>: Sendable {
    package var success: CallbackList<Response<Value>> = .none
    package var failure: CallbackList<NetworkError> = .none
    package var head: CallbackList<ResponseHead> = .none
    package var sent: CallbackList<Progress> = .none
    package var received: CallbackList<Progress> = .none
    package var end: CallbackList<EndReason> = .none
    package var delegate: DelegateReference?
    /// Resumes an `await`; called in every ending.
    package var resolve: (@Sendable (Result<Response<Value>, NetworkError>) -> Void)?

    package init() {}

    /// Where the run delivers: the delegate's place, else that of the first closure that has one.
    package var preferredLane: DeliveryLane? {
        delegate?.lane ?? success.firstLane ?? failure.firstLane ?? end.firstLane ?? received.firstLane ?? sent.firstLane
            ?? head.firstLane
    }

    package func fits(_ lane: DeliveryLane) -> Bool {
        success.fits(lane) && failure.fits(lane) && head.fits(lane) && sent.fits(lane) && received.fits(lane) && end.fits(lane)
    }
}

/// How a run ended; what `onEnd` is told.
public enum EndReason: Sendable {
    case succeeded
    case failed(NetworkError)
    case cancelled(CancelReason)

    public var isCancelled: Bool { if case .cancelled = self { true } else { false } }
}
