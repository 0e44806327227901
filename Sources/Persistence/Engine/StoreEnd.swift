import SystemSupport

/// The end of a store: it begins once, takes as long as the disk does, and any number of callers wait for it.
final class StoreEnd: Sendable {
    private struct Progress {
        var hasBegun = false
        /// The files are closed, or never were open, and no thread has anything left to do.
        var isOver = false
        var waiting: [@Sendable () -> Void] = []
    }

    private let progress = Lock(Progress())

    /// Begins the end.
    ///
    /// - Returns: true for the first call, which then has to bring it about.
    func begin() -> Bool {
        progress.withLock { progress in
            defer { progress.hasBegun = true }
            return !progress.hasBegun
        }
    }

    var hasBegun: Bool { progress.withLock { $0.hasBegun } }

    var isUnderWay: Bool { progress.withLock { $0.hasBegun && !$0.isOver } }

    /// Calls `done` when an end that has begun is over; at once when none has, or it is.
    func whenOver(_ done: @escaping @Sendable () -> Void) {
        let isWaiting = progress.withLock { progress in
            guard progress.hasBegun, !progress.isOver else { return false }
            progress.waiting.append(done)
            return true
        }
        if !isWaiting { done() }
    }

    /// Notes that it is over, and returns those who wait, to be called by the caller once nobody finds the store any more.
    func finish() -> [@Sendable () -> Void] {
        progress.withLock { progress in
            defer { progress.waiting = [] }
            progress.isOver = true
            return progress.waiting
        }
    }
}
