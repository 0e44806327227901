package import Glibc

/// The place at which one idle thread of a pool waits for its next job.
///
/// Each has a condition of its own: of several threads at one, the C library up to glibc 2.41 may leave one asleep that was to be woken
/// (sourceware bug 25847), and on a busy machine a reader of a closed store did stay.
package final class IdleSlot {
    package let condition: UnsafeMutablePointer<pthread_cond_t>
    /// True once a job was meant for this thread. Guarded by the mutex of the pool.
    package var isCalled = false

    package init() {
        condition = .allocate(capacity: 1)
        MonotonicCondition.initialize(condition)
    }

    deinit {
        pthread_cond_destroy(condition)
        condition.deallocate()
    }

    /// Wakes the thread for a job. With the mutex of the pool held.
    package func call() {
        isCalled = true
        wake()
    }

    package func wake() { pthread_cond_signal(condition) }
}
