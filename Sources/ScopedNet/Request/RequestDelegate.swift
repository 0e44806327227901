/// Hears of a request's stages. Held weakly; its death silences only itself.
///
/// Called on the actor where it was set (`class Model: @MainActor RequestDelegate` conforms and is called on the main actor), after the
/// observers and before the closures. Each call is admitted for itself: none begins after a cancel or a bag's end has returned. One delegate
/// may serve several requests: compare ``Run/Info/requestID`` or ``Run/Info/tag``.
public protocol RequestDelegate: AnyObject {
    /// Receives the start of the run's first attempt, when that leaves the queue.
    func requestDidStart(_ run: Run.Info)
    /// Receives the status and fields of the response, before its body.
    func request(_ run: Run.Info, didReceiveHead head: ResponseHead)
    /// Receives the progress of the request's body. Coalesced; the complete count comes before the success.
    func request(_ run: Run.Info, didSend progress: TransferProgress)
    /// Receives the progress of the response's body. Coalesced; the complete count comes before the success.
    func request(_ run: Run.Info, didReceive progress: TransferProgress)
    /// The stored value of a request with ``CachePolicy/ReadMode/thenNetwork``; what the server says follows.
    func request(_ run: Run.Info, didLoadCached value: any Sendable, response: ResponseHead)
    /// `value` is what the request's decoder made.
    func request(_ run: Run.Info, didSucceedWith value: any Sendable, response: ResponseHead)
    /// Receives the final error, after all retries. A cancellation is none.
    func request(_ run: Run.Info, didFailWith error: NetworkError)
    /// After success or failure; not after a cancellation, nor where that very call cancelled.
    func requestDidEnd(_ run: Run.Info)
}

extension RequestDelegate {
    /// Does nothing.
    public func requestDidStart(_ run: Run.Info) {}
    /// Does nothing.
    public func request(_ run: Run.Info, didReceiveHead head: ResponseHead) {}
    /// Does nothing.
    public func request(_ run: Run.Info, didSend progress: TransferProgress) {}
    /// Does nothing.
    public func request(_ run: Run.Info, didReceive progress: TransferProgress) {}
    /// Does nothing.
    public func request(_ run: Run.Info, didLoadCached value: any Sendable, response: ResponseHead) {}
    /// Does nothing.
    public func request(_ run: Run.Info, didSucceedWith value: any Sendable, response: ResponseHead) {}
    /// Does nothing.
    public func request(_ run: Run.Info, didFailWith error: NetworkError) {}
    /// Does nothing.
    public func requestDidEnd(_ run: Run.Info) {}
}

/// A weak delegate and the place where it may be called. A class, so that who has none pays for a nil and not for an empty weak
/// reference.
package final class DelegateReference: @unchecked Sendable {
    // Safety: the reference is written in `init` only and its load atomic; the delegate is called on `lane` only, which stands for the isolation
    // it was set in, or (nil) takes Sendable delegates only.
    package let lane: DeliveryLane?
    package private(set) weak var delegate: (any RequestDelegate)?

    package init(_ delegate: any RequestDelegate, isolation: (any Actor)?) {
        self.delegate = delegate
        lane = DeliveryLane.of(isolation)
    }
}
