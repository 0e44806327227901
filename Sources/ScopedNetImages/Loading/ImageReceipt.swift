@_spi(Census) public import ScopedNet

/// A load of a picture that belongs to nobody else: it is cancelled when its receipt goes.
///
/// Keep it where the picture is shown; a new one in its place cancels the old load. A load that has ended is not changed by anything.
public final class ImageReceipt: Sendable {
    /// The load.
    public var operation: ScopedOperation { load.operation }
    private let load: ImageLoad

    init(_ load: ImageLoad) {
        self.load = load
        LiveObjects.born(.imageReceipt)
    }

    deinit {
        operation.cancel()
        LiveObjects.died(.imageReceipt)
    }

    /// True until the load has ended.
    public var isRunning: Bool { operation.isRunning }

    /// Ends the load, without a word. Idempotent, any thread.
    public func cancel() { operation.cancel() }

    /// Makes the load more urgent, or less: a picture that was fetched ahead is on the screen now. Any thread.
    ///
    /// - Parameter priority: how urgent it is from here on.
    public func setPriority(_ priority: Priority) { load.setPriority(priority) }
}
