import SystemSupport

/// Threads of a store for what may wait for its disk, and for callers who wait for a limited time.
///
/// A disk that does not answer holds these threads, and nobody else: who asks has no answer after the limit, and once every thread is held,
/// at once. After the end each call has a thread for itself, within the same limit: bodies of a closed store are still read. Where the process can
/// have no further thread there is no answer.
final class DiskThreads: Sendable {
    private let worker: Worker
    private let stall: Lock<DiskStall>
    private let limit: Duration
    private let clock = DeadlineClock()
    private let name: String
    private let makeThread: SystemThread.Make

    /// Makes threads of a name.
    ///
    /// - Parameters:
    ///   - name: of the threads.
    ///   - threads: the most there are.
    ///   - limit: how long a caller waits, unless it says otherwise.
    ///   - makeThread: for tests, in place of the system's.
    init(name: String, threads: Int, limit: Duration, makeThread: @escaping SystemThread.Make = SystemThread.make) {
        self.name = name
        self.makeThread = makeThread
        worker = Worker(name: name, limit: threads, makeThread: makeThread)
        stall = Lock(DiskStall(threads: threads))
        self.limit = limit
    }

    /// For what nobody waits for with a limit.
    @discardableResult
    func enqueue(_ job: @escaping @Sendable () -> Void) -> Bool { worker.enqueue(job) }

    func end() {
        worker.end()
        clock.end()
    }

    /// - Returns: false when no thread can be had.
    private func begin(_ job: @escaping @Sendable () -> Void) -> Bool {
        worker.enqueue(job) || worker.hasEnded && makeThread(name, job)
    }

    /// Does the job on one of the threads, and waits for it on this one.
    ///
    /// - Returns: nil when the disk does not answer in time.
    func answer<Value: Sendable>(_ job: @escaping @Sendable () -> Value) -> Value? {
        guard stall.withLock({ $0.admits }) else { return nil }
        let first = FirstAnswer<Value?>()
        let latch = CountdownLatch(count: 1)
        let hasBegun = begin { [self] in
            perform(job, first)
            latch.countDown()
        }
        guard hasBegun else { return nil }
        if !latch.wait(for: limit) { giveUp(first) }
        return first.given ?? nil
    }

    /// Does the job on one of the threads, and waits for it without holding one.
    ///
    /// - Returns: nil when the disk does not answer in time.
    func answer<Value: Sendable>(within limit: Duration? = nil, _ job: @escaping @Sendable () -> Value) async -> Value? {
        guard stall.withLock({ $0.admits }) else { return nil }
        let first = FirstAnswer<Value?>()
        guard begin({ [self] in perform(job, first) }) else { return nil }
        let wait = clock.begin(limit: limit ?? self.limit) { [self] in giveUp(first) }
        let value = await first.value
        clock.end(of: wait)
        return value
    }

    /// Does the job on one of the threads, and calls `then` there: a thread of its own for who has none to wait with.
    ///
    /// `then` is called once, never by this thread within the call; with nil, on any thread, when the disk does not answer in time.
    func answer<Value: Sendable>(_ job: @escaping @Sendable () -> Value, then: @escaping @Sendable (Value?) -> Void) {
        guard stall.withLock({ $0.admits }) else {
            Task { then(nil) }
            return
        }
        let first = FirstAnswer<Value?>()
        let wait = clock.begin(limit: limit) { [self] in
            guard first.give(nil) else { return }
            stall.withLock { $0.giveUp() }
            then(nil)
        }
        let hasBegun = begin { [self] in
            if first.given == nil {
                let value = job()
                if first.give(value) {
                    clock.end(of: wait)
                    return then(value)
                }
            }
            stall.withLock { $0.comeBack() }
        }
        guard !hasBegun else { return }
        clock.end(of: wait)
        Task { if first.give(nil) { then(nil) } }
    }

    private func perform<Value: Sendable>(_ job: () -> Value, _ first: FirstAnswer<Value?>) {
        // Given up before it began: the disk is not asked any more.
        if first.given == nil, first.give(job()) { return }
        stall.withLock { $0.comeBack() }
    }

    private func giveUp<Value: Sendable>(_ first: FirstAnswer<Value?>) {
        if first.give(nil) { stall.withLock { $0.giveUp() } }
    }
}
