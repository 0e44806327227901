import Glibc
import SystemSupport

/// The threads on which the library waits: for disks, and for code of the program that may.
/// Decoding has threads of its own (``WorkPool``).
///
/// There is one for the process. Threads are made as they are wanted, up to a bound, and leave when
/// there has been nothing to do for a second. A group of jobs, such as those of one cache or one
/// session, has a part of them at most: a disk that hangs delays its own users.
package final class BlockingPool: @unchecked Sendable {
    // Safety: `state`, `slots` and what changes of a slot are touched under `mutex` only, which lives
    // as long as the pool. Jobs are run and released outside it.
    package typealias Job = @Sendable () -> Void

    /// Jobs that wait for the same disk, as far as can be known.
    package struct Group: Hashable, Sendable {
        private let owner: ObjectIdentifier?
        private let folder: String

        /// - Parameter owner: whose files they are, such as a cache.
        package init(_ owner: AnyObject) { (self.owner, folder) = (ObjectIdentifier(owner), "") }

        /// Two forms of one name have two groups, or one: nothing depends on it but who waits for
        /// whom.
        package init(folderOf path: String) {
            (owner, folder) = (nil, path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "")
        }

        /// What is known to be nobody's in particular.
        package static let program = Group(folderOf: "")
    }

    package static let shared = BlockingPool(width: 64, share: 16)

    private let idleSeconds: Int
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var state: BlockingPoolState<Group, Job>
    /// Of the threads that wait and were not called.
    private var slots: [IdleSlot] = []

    /// - Parameters:
    ///   - width: the most threads at a time.
    ///   - share: the most threads of one group.
    ///   - idleSeconds: how long a thread waits for the next job.
    package init(width: Int, share: Int, idleSeconds: Int = 1) {
        self.idleSeconds = idleSeconds
        state = BlockingPoolState(width: width, share: share)
        pthread_mutex_init(mutex, nil)
    }

    /// Threads hold the pool: none is left.
    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// How many threads exist at the moment.
    package var threads: Int {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return state.threads
    }

    /// Takes a job to be done soon. Any thread, blocks for nothing.
    package func submit(_ group: Group, _ job: @escaping Job) {
        pthread_mutex_lock(mutex)
        let submission = state.submit(job, of: group)
        // None where all that wait were called already: each of them looks for a job before it sits down again.
        let slot = submission == .wake ? slots.popLast() : nil
        slot?.isCalled = true
        pthread_mutex_unlock(mutex)
        // Behind the mutex, or the thread would wake only to wait for it.
        slot?.wake()
        if submission == .start { startThread() }
    }

    /// Does one job and waits for it without holding a thread.
    package func run<Value: Sendable>(_ group: Group, _ job: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            submit(group) { continuation.resume(with: Result { try job() }) }
        }
    }

    private func startThread() {
        // The system's own size of stack: code of the program may run on it.
        do throws(SystemFailure) {
            try SystemThread.start(name: "scopednet.disk", stackBytes: nil) { [self] in work() }
            return
        } catch {}
        pthread_mutex_lock(mutex)
        state.left()
        let isAlone = state.threads == 0
        pthread_mutex_unlock(mutex)
        // The others get to the job. Where there is none, the work pool's threads are better than
        // nothing.
        if isAlone { WorkPool.shared.submit([{ self.help() }]) }
    }

    private func work() {
        let slot = IdleSlot()
        pthread_mutex_lock(mutex)
        repeat { doReadyJobs() } while waitForJob(slot)
        state.left()
        pthread_mutex_unlock(mutex)
    }

    private func help() {
        pthread_mutex_lock(mutex)
        doReadyJobs()
        pthread_mutex_unlock(mutex)
    }

    /// Holds the mutex, but for the jobs.
    private func doReadyJobs() {
        while let group = doJob() { state.finished(group) }
    }

    /// Holds the mutex, but for the job; returns its group, and nil where none is ready.
    private func doJob() -> Group? {
        var (job, group): (Job?, Group?)
        if let taken = state.take() { (job, group) = taken }
        guard group != nil else { return nil }
        pthread_mutex_unlock(mutex)
        job?()
        // With a job the last reference to somebody's object may go, whose deinit submits a job (a file that is removed): with the mutex held, this thread
        // would wait for itself, and with it each disk job of the process. Only a variable is emptied at a line; a constant lives as long as the
        // compiler likes.
        job = nil
        pthread_mutex_lock(mutex)
        return group
    }

    /// Holds the mutex. False when none has come in time.
    private func waitForJob(_ slot: IdleSlot) -> Bool {
        let deadline = Monotonic.now() + .seconds(idleSeconds)
        state.becameIdle()
        defer { state.wokeUp() }
        while !state.hasReadyJob {
            slot.isCalled = false
            slots.append(slot)
            let isLate = !MonotonicCondition.wait(slot.condition, mutex, until: deadline)
            if !slot.isCalled { slots.removeAll { $0 === slot } }
            if isLate { return state.hasReadyJob }
        }
        return true
    }
}
