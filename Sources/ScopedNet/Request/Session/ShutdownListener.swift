/// A listener for the graceful shutdown of the service in whose task a request is awaited.
///
/// `ScopedNetService` has one. The library itself knows of no services.
package protocol ShutdownListener: Sendable {
    /// Performs `operation`, and calls `onExpiry` when the service is to end and the time for its requests is over.
    func listening<Result: Sendable>(
        _ operation: () async -> Result, onExpiry: @escaping @Sendable () -> Void
    ) async -> Result
}
