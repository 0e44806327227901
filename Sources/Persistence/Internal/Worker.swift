import CStore
import Glibc

/// Threads with a queue of jobs and, for the first of them, a deadline. They end when told to, after the last job.
///
/// Threads of its own, because a store that waited for a thread of somebody else's pool would stop when that pool is busy.
final class Worker: @unchecked Sendable {
    /// Where one idle thread waits. Each has a condition of its own: of several threads at one, the C library up to glibc 2.41 may leave one
    /// asleep that was to be woken (sourceware bug 25847), and on a busy machine a reader of a closed store did stay.
    private final class Seat {
        let condition: UnsafeMutablePointer<pthread_cond_t>
        var isCalled = false

        init() {
            condition = .allocate(capacity: 1)
            MonotonicCondition.initialize(condition)
        }

        deinit {
            pthread_cond_destroy(condition)
            condition.deallocate()
        }

        func call() {
            isCalled = true
            wake()
        }

        func wake() { pthread_cond_signal(condition) }
    }

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
    private var idle: [Seat] = []

    private let name: String
    private let limit: Int
    private let makeThread: SystemThread.Make

    /// - Parameters:
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
        let seat = idle.popLast()
        seat?.isCalled = true
        pthread_mutex_unlock(mutex)
        // Behind the mutex, or the thread would wake only to wait for it.
        seat?.wake()
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
        while let seat = idle.popLast() { seat.call() }
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
        let seat = Seat()
        pthread_mutex_lock(mutex)
        threads.append(pthread_self())
        pthread_mutex_unlock(mutex)
        while let job = next(seat) { job() }
    }

    private func next(_ seat: Seat) -> (@Sendable () -> Void)? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let deadline, deadline <= Self.now() {
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
            seat.isCalled = false
            idle.append(seat)
            wait(seat)
            if !seat.isCalled { idle.removeAll { $0 === seat } }
        }
    }

    /// Until it is called, or the deadline has come. It may wake for nothing.
    private func wait(_ seat: Seat) {
        guard let deadline else {
            pthread_cond_wait(seat.condition, mutex)
            return
        }
        _ = MonotonicCondition.wait(seat.condition, mutex, until: deadline)
    }

    static func now() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
