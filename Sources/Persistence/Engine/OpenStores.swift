import CStore
import Glibc
import SystemSupport

/// A store as the other stores of its process, and the end of the process, see it.
protocol OpenStore: AnyObject, Sendable {
    /// True when it was closed, and still has, or is about to take, the files of this folder. `lockFile` is that of the folder, by which it is
    /// known under another path; nil where there is none yet.
    func isLettingGo(of folder: String, lockFile: UInt64?) -> Bool

    /// Writes what waits, where there is a thread for it, and then calls `done`.
    func flushNow(_ done: @escaping @Sendable () -> Void)
}

/// The stores of this process whose files are not closed yet, and the flush of them all when the process ends in order.
///
/// An ordered end is exit(3), and so a return from `main`. The flush is registered with atexit(3) when the first store is made. It runs on the
/// thread that ends the process while all others run on, waits for the stores' own threads for ``exitLimit`` at most, and holds no lock
/// that any of them needs. A process that was forked has none of these threads: there it does nothing.
final class OpenStores: @unchecked Sendable {
    // Safety: `stores` and `count` are reached with `mutex` held only. Mutex and condition live as long as the object, which for the shared one
    // is as long as the process.
    static let shared: OpenStores = {
        let stores = OpenStores()
        atexit { OpenStores.shared.flushAtExit() }
        return stores
    }()

    /// The longest time that the end of the process waits for a disk.
    static let exitLimit = Duration.seconds(2)

    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var stores: [UInt64: any OpenStore] = [:]
    private var count: UInt64 = 0
    private let process = getpid()

    init() {
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

    /// - Returns: the number of a store that is being made, in their order.
    func makeNumber() -> UInt64 {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        count += 1
        return count
    }

    /// Keeps a store until it is removed.
    func add(_ store: any OpenStore, number: UInt64) {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        stores[number] = store
    }

    /// Its files are closed, or were never opened.
    func remove(number: UInt64) {
        pthread_mutex_lock(mutex)
        let removed = stores.removeValue(forKey: number)
        pthread_cond_broadcast(condition)
        pthread_mutex_unlock(mutex)
        withExtendedLifetime(removed) {}
    }

    /// Waits until every store of the same folder that was made before, and closed or dropped, has let go of its files.
    ///
    /// - Returns: false when there is none to wait for, or it takes longer than `limit`.
    @discardableResult
    func waitForPredecessors(of number: UInt64, folder: String, lockFile: UInt64?, limit: Duration) -> Bool {
        let deadline = Monotonic.now() + limit
        var hasWaited = false
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while stores.contains(where: { $0.key < number && $0.value.isLettingGo(of: folder, lockFile: lockFile) }) {
            guard MonotonicCondition.wait(condition, mutex, until: deadline) else { return false }
            hasWaited = true
        }
        return hasWaited
    }

    private func flushAtExit() {
        guard getpid() == process else { return }
        pthread_mutex_lock(mutex)
        let open = Array(stores.values)
        pthread_mutex_unlock(mutex)
        guard !open.isEmpty else { return }
        let latch = CountdownLatch(count: open.count)
        for store in open { store.flushNow { latch.countDown() } }
        latch.wait(for: Self.exitLimit)
    }
}
