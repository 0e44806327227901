import ScopedNet

/// Pictures that are fetched ahead, with the least priority; the rest is cancelled when this goes.
public final class ImagePrefetch: Sendable {
    /// The place to which pictures are fetched.
    public enum Destination: Sendable, Hashable {
        /// Their files, to the response cache. Without one the session keeps no files: use `memory`.
        case files
        /// The pictures, to the memory cache.
        case memory
    }

    private let operations: [ScopedOperation]

    init(_ operations: [ScopedOperation]) { self.operations = operations }

    deinit { cancel() }

    /// The number of those that have not come yet.
    public var remaining: Int { operations.count { $0.isRunning } }

    /// Cancels those that have not come yet. Idempotent, any thread.
    public func cancel() { for operation in operations { operation.cancel() } }

    /// Waits until all have come, failed or been cancelled.
    public func waitUntilDone() async { for operation in operations { _ = await operation.outcome() } }
}
