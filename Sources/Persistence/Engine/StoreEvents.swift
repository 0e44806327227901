import SystemSupport

/// The way of a store's events to the program.
final class StoreEvents: Sendable {
    private let onEvent: (@Sendable (StoreEvent) -> Void)?
    private let telling = Lock(false)

    init(_ onEvent: (@Sendable (StoreEvent) -> Void)?) { self.onEvent = onEvent }

    /// Calls the program. On the writer thread, but for the first event of a process that can have no thread.
    func tell(_ event: StoreEvent) {
        guard let onEvent else { return }
        telling.withLock { $0 = true }
        onEvent(event)
        telling.withLock { $0 = false }
    }

    /// True while the writer thread is in a call of the program's, outside the database. Exact on that thread only.
    var isTelling: Bool { telling.withLock { $0 } }
}
