import CStore
import GRDB
import Glibc

/// Connections for reading. Whoever reads has one for itself, on its own thread; they are made when wanted.
final class ReaderPool: @unchecked Sendable {
    // Safety: everything below is reached with `mutex` held only; a connection in use is in nobody's hands but its reader's.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var idle: [DatabaseQueue] = []
    private var inUse = 0
    private var isClosed = false

    private let limit: Int
    private let make: @Sendable () throws -> DatabaseQueue

    init(limit: Int, make: @escaping @Sendable () throws -> DatabaseQueue) {
        self.limit = limit
        self.make = make
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Waits for other readers only, and only when there are more than connections.
    func read<Result>(_ body: (Database) throws -> Result) throws(DatabaseFailure) -> Result {
        guard let taken = take() else { throw DatabaseFailure.unavailable("the store is closed") }
        var queue = taken.queue
        defer { giveBack(queue) }
        do {
            let reader = try queue ?? make()
            queue = reader
            return try reader.unsafeRead(body)
        } catch {
            // A connection that failed may hold on to what failed; the next reader opens another.
            queue = nil
            throw DatabaseFailure(error)
        }
    }

    /// Waits for the readers, closes all connections, and lets nobody in any more.
    func close() {
        pthread_mutex_lock(mutex)
        isClosed = true
        while inUse > 0 { pthread_cond_wait(condition, mutex) }
        let closing = idle
        idle = []
        pthread_mutex_unlock(mutex)
        for queue in closing { try? queue.close() }
    }

    /// Idle connections give back their page caches by closing.
    func trim() {
        pthread_mutex_lock(mutex)
        let closing = idle
        idle = []
        pthread_mutex_unlock(mutex)
        for queue in closing { try? queue.close() }
    }

    /// Nil when closed; without a connection where one is to be made.
    private func take() -> (queue: DatabaseQueue?, Void)? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while !isClosed {
            if inUse < limit {
                inUse += 1
                return (idle.popLast(), ())
            }
            pthread_cond_wait(condition, mutex)
        }
        return nil
    }

    private func giveBack(_ queue: DatabaseQueue?) {
        pthread_mutex_lock(mutex)
        inUse -= 1
        if let queue { idle.append(queue) }
        // Readers and `close` wait on the same condition.
        pthread_cond_broadcast(condition)
        pthread_mutex_unlock(mutex)
    }
}
