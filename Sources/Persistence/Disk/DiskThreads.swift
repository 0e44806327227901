/// Threads of a store for what may wait for its disk, and for callers who wait for a limited time.
///
/// A disk that does not answer holds these threads, and nobody else: who asks has no answer after the limit, and once every thread is held,
/// at once.
final class DiskThreads: Sendable {
    private let worker: Worker
    private let stall: Lock<DiskStall>
    private let limit: Duration
    private let clock = DeadlineClock()

    /// Makes threads of a name. `limit` is how long a caller waits, unless it says otherwise.
    init(name: String, threads: Int, limit: Duration) {
        worker = Worker(name: name, limit: threads)
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

    /// Does the job on one of the threads, and waits for it on this one. A store that is closed has none: then it is done here.
    ///
    /// - Returns: nil when the disk does not answer in time.
    func answer<Value: Sendable>(_ job: @escaping @Sendable () -> Value) -> Value? {
        guard stall.withLock({ $0.admits }) else { return nil }
        let first = FirstAnswer<Value?>()
        let latch = CountdownLatch(count: 1)
        let isQueued = worker.enqueue { [self] in
            perform(job, first)
            latch.countDown()
        }
        guard isQueued else { return job() }
        if !latch.wait(for: limit) { giveUp(first) }
        return first.given ?? nil
    }

    /// Does the job on one of the threads, and waits for it without holding one.
    ///
    /// - Returns: nil when the disk does not answer in time.
    func answer<Value: Sendable>(within limit: Duration? = nil, _ job: @escaping @Sendable () -> Value) async -> Value? {
        guard stall.withLock({ $0.admits }) else { return nil }
        let first = FirstAnswer<Value?>()
        guard worker.enqueue({ [self] in perform(job, first) }) else { return job() }
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
        let isQueued = worker.enqueue { [self] in
            if first.given == nil {
                let value = job()
                if first.give(value) {
                    clock.end(of: wait)
                    return then(value)
                }
            }
            stall.withLock { $0.comeBack() }
        }
        guard !isQueued else { return }
        clock.end(of: wait)
        Task { if first.give(nil) { then(job()) } }
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
