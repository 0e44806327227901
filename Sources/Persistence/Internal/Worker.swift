import CStore
import Glibc
import SystemSupport

/// Threads with a queue of jobs and, for the first of them, a deadline. They end when told to, after the last job.
///
/// Threads of its own, because a store that waited for a thread of somebody else's pool would stop when that pool is busy.
final class Worker: @unchecked Sendable {
    // Safety: everything below is reached with `mutex` held only; the jobs are Sendable closures and run without it.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var jobs: [@Sendable () -> Void] = []
    private var head = 0
    private var deadline: Duration?
    private var onDeadline: (@Sendable () -> Void)?
    private var isEnding = false
    private var alive = 0
    private var threads: [pthread_t] = []
    /// Of the threads that wait and were not called.
    private var idle: [IdleSlot] = []

    private let name: String
    private let limit: Int
    private let makeThread: SystemThread.Make

    /// Makes a queue.
    ///
    /// - Parameters:
    ///   - name: of the threads.
    ///   - limit: how many threads at most. Each is made when there is a job and nobody idle.
    ///   - makeThread: for tests, in place of the system's.
    init(name: String, limit: Int = 1, makeThread: @escaping SystemThread.Make = SystemThread.make) {
        self.name = name
        self.limit = limit
        self.makeThread = makeThread
        mutex = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// The job will run, unless `end` came before.
    /// - Returns: false when it will not, because the worker has ended or the process can have no thread.
    @discardableResult
    func enqueue(_ job: @escaping @Sendable () -> Void) -> Bool {
        pthread_mutex_lock(mutex)
        if !isEnding, idle.isEmpty, alive < limit { spawn() }
        guard !isEnding, alive > 0 else {
            pthread_mutex_unlock(mutex)
            return false
        }
        jobs.append(job)
        let slot = idle.popLast()
        slot?.isCalled = true
        pthread_mutex_unlock(mutex)
        // Behind the mutex, or the thread would wake only to wait for it.
        slot?.wake()
        return true
    }

    /// Calls `body` once when the monotonic clock has reached `time`. An earlier time that was asked for stays. For workers of one thread.
    func schedule(at time: Duration, _ body: @escaping @Sendable () -> Void) {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        guard !isEnding else { return }
        if let deadline, deadline <= time { return }
        if alive == 0 { spawn() }
        // Without a thread nothing is noted: the next call tries again.
        guard alive > 0 else { return }
        deadline = time
        onDeadline = body
        idle.popLast()?.call()
    }

    /// No job is taken any more; those that were are still done. Returns at once.
    func end() {
        pthread_mutex_lock(mutex)
        isEnding = true
        deadline = nil
        onDeadline = nil
        while let slot = idle.popLast() { slot.call() }
        pthread_mutex_unlock(mutex)
    }

    /// With the mutex held.
    private func spawn() {
        if makeThread(name, { self.run() }) { alive += 1 }
    }

    /// No job is taken any more, and no thread is made.
    var hasEnded: Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return isEnding
    }

    /// Whether this thread is one of the worker's.
    var isCurrent: Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return threads.contains { pthread_equal($0, pthread_self()) != 0 }
    }

    private func run() {
        let slot = IdleSlot()
        pthread_mutex_lock(mutex)
        threads.append(pthread_self())
        pthread_mutex_unlock(mutex)
        while let job = next(slot) { job() }
    }

    private func next(_ slot: IdleSlot) -> (@Sendable () -> Void)? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let deadline, deadline <= Monotonic.now() {
                let body = onDeadline
                self.deadline = nil
                onDeadline = nil
                if let body { return body }
            }
            if head < jobs.count {
                let job = jobs[head]
                head += 1
                if head == jobs.count {
                    jobs.removeAll(keepingCapacity: true)
                    head = 0
                }
                return job
            }
            if isEnding {
                alive -= 1
                threads.removeAll { pthread_equal($0, pthread_self()) != 0 }
                return nil
            }
            slot.isCalled = false
            idle.append(slot)
            wait(slot)
            if !slot.isCalled { idle.removeAll { $0 === slot } }
        }
    }

    /// Until it is called, or the deadline has come. It may wake for nothing.
    private func wait(_ slot: IdleSlot) {
        guard let deadline else {
            pthread_cond_wait(slot.condition, mutex)
            return
        }
        _ = MonotonicCondition.wait(slot.condition, mutex, until: deadline)
    }
}
