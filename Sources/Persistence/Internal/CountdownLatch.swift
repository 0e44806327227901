import CStore
import Glibc

/// A latch that opens when it has been counted down.
final class CountdownLatch: @unchecked Sendable {
    // Safety: `count` is reached with `mutex` held only; mutex and condition live from init to deinit.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var count: Int

    init(count: Int) {
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

    func countDown() {
        pthread_mutex_lock(mutex)
        count -= 1
        if count <= 0 { pthread_cond_broadcast(condition) }
        pthread_mutex_unlock(mutex)
    }

    /// - Returns: false when `limit` was over first.
    @discardableResult
    func wait(for limit: Duration) -> Bool {
        let deadline = Worker.now() + limit
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while count > 0 {
            guard MonotonicCondition.wait(condition, mutex, until: deadline) else { return count <= 0 }
        }
        return true
    }
}

/// Conditions that wait by the monotonic clock.
enum MonotonicCondition {
    static func initialize(_ condition: UnsafeMutablePointer<pthread_cond_t>) {
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    /// Waits once. It may wake for nothing.
    ///
    /// - Returns: false when the time has come.
    static func wait(
        _ condition: UnsafeMutablePointer<pthread_cond_t>, _ mutex: UnsafeMutablePointer<pthread_mutex_t>, until deadline: Duration
    ) -> Bool {
        let (seconds, attoseconds) = deadline.components
        var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        return pthread_cond_timedwait(condition, mutex, &time) != ETIMEDOUT
    }
}
