import Glibc

/// A latch that opens when it has been counted down.
package final class CountdownLatch: @unchecked Sendable {
    // Safety: `count` is reached with `mutex` held only; mutex and condition live from init to deinit.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var count: Int

    package init(count: Int = 1) {
        self.count = count
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        MonotonicCondition.initialize(condition)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    package func countDown() {
        pthread_mutex_lock(mutex)
        count -= 1
        if count <= 0 { pthread_cond_broadcast(condition) }
        pthread_mutex_unlock(mutex)
    }

    /// Blocks until the latch opens.
    package func wait() {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while count > 0 { pthread_cond_wait(condition, mutex) }
    }

    /// - Returns: false when `limit` was over first.
    @discardableResult
    package func wait(for limit: Duration) -> Bool {
        let deadline = Monotonic.now() + limit
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while count > 0 {
            guard MonotonicCondition.wait(condition, mutex, until: deadline) else { return count <= 0 }
        }
        return true
    }
}
