import CStore
import Glibc
import SystemSupport

/// The stores of this process whose files are not closed yet, and the flush of them all when the process ends in order.
///
/// An ordered end is exit(3), and so a return from `main`. The flush is registered with atexit(3) when the first store is made. It runs on the
/// thread that ends the process while all others run on, waits for the stores' own threads for ``exitLimit`` at most, and holds no lock
/// that any of them needs. A process that was forked has none of these threads: there it does nothing.
final class OpenStores: @unchecked Sendable {
    // Safety: `engines` and `count` are reached with `mutex` held only. Mutex and condition live as long as the process.
    static let shared = OpenStores()

    /// How long the end of the process may wait for a disk.
    static let exitLimit = Duration.seconds(2)

    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var engines: [ObjectIdentifier: StoreEngine] = [:]
    private var count: UInt64 = 0
    private let process = getpid()

    private init() {
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        MonotonicCondition.initialize(condition)
        atexit { OpenStores.shared.flushAtExit() }
    }

    /// - Returns: its number, in the order they were made.
    func add(_ engine: StoreEngine) -> UInt64 {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        engines[ObjectIdentifier(engine)] = engine
        count += 1
        return count
    }

    /// Its files are closed, or were never opened.
    func remove(_ engine: StoreEngine) {
        pthread_mutex_lock(mutex)
        let removed = engines.removeValue(forKey: ObjectIdentifier(engine))
        pthread_cond_broadcast(condition)
        pthread_mutex_unlock(mutex)
        withExtendedLifetime(removed) {}
    }

    /// Waits until every store of the same folder that was closed before, or dropped, has let go of its files.
    ///
    /// `lockFile` is that of the folder, by which it is known under another path; nil where there is none yet. Returns false when there is
    /// none to wait for, or it takes longer than `limit`.
    @discardableResult
    func waitForPredecessor(of engine: StoreEngine, lockFile: UInt64?, limit: Duration) -> Bool {
        let deadline = Monotonic.now() + limit
        var hasWaited = false
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while engines.values.contains(where: { $0.precedes(engine, lockFile: lockFile) }) {
            guard MonotonicCondition.wait(condition, mutex, until: deadline) else { return false }
            hasWaited = true
        }
        return hasWaited
    }

    private func flushAtExit() {
        guard getpid() == process else { return }
        pthread_mutex_lock(mutex)
        let open = Array(engines.values)
        pthread_mutex_unlock(mutex)
        guard !open.isEmpty else { return }
        let latch = CountdownLatch(count: open.count)
        for engine in open { engine.flushNow { latch.countDown() } }
        latch.wait(for: Self.exitLimit)
    }
}
