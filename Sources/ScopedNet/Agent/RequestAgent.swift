import Synchronization
import SystemSupport

/// Retains running requests, and nothing else: from start to end, never a handle.
///
/// ``shared`` is one of many anybody can make; a session takes the one it is configured with. Any thread may use it; nothing blocks.
public final class RequestAgent: Sendable {
    /// The agent of all sessions that are configured with no other one.
    public static let shared = RequestAgent()

    /// What makes two runs "the same" to a ``RepeatStrategy``.
    package enum RepeatKey: Hashable, Sendable {
        case object(UInt64)
        case key(String)
    }

    private struct Shard {
        // Safety: the list owns one retain for each run in it, taken in `retain` and given back in `remove`; the links in the runs are touched
        // under this shard's lock only.
        var head: Unmanaged<AgentEntry>?
    }

    private final class ShardBox: Sendable {
        let lock = Lock(Shard())
        /// Runs by what makes them the same. Taken before `lock`, never inside it.
        let repeats = Lock<[RepeatKey: [AgentEntry]]>([:])
    }

    /// A power of two. One lock would be the busiest place of the library.
    private static let shardCount = 16
    private let shards: [ShardBox] = (0..<shardCount).map { _ in ShardBox() }
    private let alive = Atomic<Int>(0)
    private let waiterCount = Atomic<Int>(0)
    private let waiters = Lock(Waiters())

    private struct Waiters {
        var idle: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var ends: [UInt64: [CheckedContinuation<Void, Never>]] = [:]
    }

    /// Makes an agent without runs.
    public init() {}

    /// Runs between start and the end of their last callback.
    public var liveCount: Int { alive.load(ordering: .acquiring) }

    // MARK: Retaining

    enum Admission { case accepted(replaced: [AgentEntry]), refused(AgentEntry) }

    /// Check and start are one step: two starts with the same key cannot both find nobody.
    func add(_ run: AgentEntry) -> Admission {
        guard let key = run.repeatKey else {
            retain(run)
            return .accepted(replaced: [])
        }
        let strategy = run.repeatStrategy
        return shard(of: key).repeats.withLock { repeats in
            let earlier = repeats[key] ?? []
            if strategy == .cancelNewest, let existing = earlier.last { return .refused(existing) }
            // Whoever finds the run by its key may cancel it, and it leaves the agent then: so it is in the agent before.
            retain(run)
            repeats[key] = earlier + [run]
            return .accepted(replaced: strategy == .cancelOldest ? earlier : [])
        }
    }

    private func retain(_ run: AgentEntry) {
        alive.add(1, ordering: .relaxed)
        run.didEnter()
        shard(of: run).lock.withLock { shard in
            let reference = Unmanaged.passRetained(run)
            run.nextEntry = shard.head
            if let head = shard.head { head._withUnsafeGuaranteedRef { $0.previousEntry = reference } }
            shard.head = reference
        }
    }

    func remove(_ run: AgentEntry) {
        if let key = run.repeatKey { forget(run, key) }
        shard(of: run).lock.withLock { Self.unlink(run, &$0) }
        Unmanaged.passUnretained(run).release()
    }

    /// Many at once: each shard's lock is taken once.
    func remove(_ runs: ArraySlice<some AgentEntry>) {
        // The runs of each shard, as chains of indices.
        var chains = [Int](repeating: -1, count: Self.shardCount)
        var following = [Int](repeating: -1, count: runs.count)
        for (offset, run) in runs.enumerated() {
            if let key = run.repeatKey { forget(run, key) }
            let shard = Self.shardIndex(of: run)
            following[offset] = chains[shard]
            chains[shard] = offset
        }
        for (shard, first) in chains.enumerated() where first >= 0 {
            shards[shard].lock.withLock { shard in
                var offset = first
                while offset >= 0 {
                    let run = runs[runs.startIndex + offset]
                    Self.unlink(run, &shard)
                    // Not the last one: `runs` has another.
                    Unmanaged.passUnretained(run).release()
                    offset = following[offset]
                }
            }
        }
    }

    private static func unlink(_ run: AgentEntry, _ shard: inout Shard) {
        if let previous = run.previousEntry {
            previous._withUnsafeGuaranteedRef { $0.nextEntry = run.nextEntry }
        } else {
            shard.head = run.nextEntry
        }
        if let next = run.nextEntry { next._withUnsafeGuaranteedRef { $0.previousEntry = run.previousEntry } }
        run.nextEntry = nil
        run.previousEntry = nil
    }

    /// One run fewer. After ``remove(_:)``, when nobody in the library holds the run any more.
    package func settle(_ id: UInt64) {
        let left = alive.subtract(1, ordering: .sequentiallyConsistent).newValue
        if waiterCount.load(ordering: .sequentiallyConsistent) > 0 { wakeWaiters(ended: id, isIdle: left == 0) }
    }

    /// As ``settle(_:)``, for many.
    func settle(_ ids: [UInt64]) {
        guard !ids.isEmpty else { return }
        let left = alive.subtract(ids.count, ordering: .sequentiallyConsistent).newValue
        guard waiterCount.load(ordering: .sequentiallyConsistent) > 0 else { return }
        for id in ids { wakeWaiters(ended: id, isIdle: left == 0) }
    }

    private func forget(_ run: AgentEntry, _ key: RepeatKey) {
        shard(of: key).repeats.withLock { repeats in
            guard var runs = repeats[key] else { return }
            runs.removeAll { $0 === run }
            repeats[key] = runs.isEmpty ? nil : runs
        }
    }

    private static func shardIndex(of run: AgentEntry) -> Int { Int(truncatingIfNeeded: run.id) & (shardCount - 1) }
    private func shard(of run: AgentEntry) -> ShardBox { shards[Self.shardIndex(of: run)] }
    private func shard(of key: RepeatKey) -> ShardBox { shards[key.hashValue & (Self.shardCount - 1)] }

    // MARK: Looking and cancelling

    package func liveEntries() -> [AgentEntry] {
        shards.flatMap { box in
            box.lock.withLock { shard in
                var runs: [AgentEntry] = []
                var next = shard.head
                while let reference = next {
                    let run = reference.takeUnretainedValue()
                    runs.append(run)
                    next = run.nextEntry
                }
                return runs
            }
        }
    }

    /// The entry with an id.
    func entry(id: UInt64) -> AgentEntry? {
        shards[Int(truncatingIfNeeded: id) & (Self.shardCount - 1)].lock.withLock { shard in
            var next = shard.head
            while let entry = next?.takeUnretainedValue() {
                if entry.id == id { return entry }
                next = entry.nextEntry
            }
            return nil
        }
    }

    /// Cancels every run, or those with a tag.
    @discardableResult
    public func cancelAll(tag: String? = nil, reason: CancelReason = .explicit) -> DeallocBag.CancelSummary {
        let runs = liveEntries().filter { tag == nil || $0.tag == tag }
        var summary = DeallocBag.CancelSummary()
        var doomed: [(run: AgentEntry, aftermath: ScopeMember.Aftermath)] = []
        // All gates first, as with a bag.
        for run in runs {
            let (result, aftermath) = run.closeGate(reason)
            summary.add(result)
            if aftermath != .none { doomed.append((run, aftermath)) }
        }
        for (run, aftermath) in doomed { run.settle(aftermath, reason) }
        return summary
    }

    // MARK: Waiting

    /// Returns when no run is alive and no user code of one is pending. By event, without polling; other work may start meanwhile.
    ///
    /// All closures of those runs are released by then. Of a run that was cancelled while it transferred, the network thread may hold
    /// what is left, its options and buffers, until it has put the transfer away.
    ///
    /// Returns at once, too, when the task is cancelled: look at ``liveCount`` where that may be.
    public func waitUntilIdle() async {
        let waiter = Identifier.next()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                waiterCount.add(1, ordering: .sequentiallyConsistent)
                let isIdle = waiters.withLock { waiters -> Bool in
                    if alive.load(ordering: .sequentiallyConsistent) == 0 { return true }
                    waiters.idle[waiter] = continuation
                    return false
                }
                if isIdle {
                    waiterCount.subtract(1, ordering: .sequentiallyConsistent)
                    continuation.resume()
                } else if alive.load(ordering: .sequentiallyConsistent) == 0 {
                    wakeWaiters(ended: 0, isIdle: true)
                } else if Task.isCancelled {
                    stopWaiting(waiter)
                }
            }
        } onCancel: {
            stopWaiting(waiter)
        }
    }

    private func stopWaiting(_ waiter: UInt64) {
        guard let continuation = waiters.withLock({ $0.idle.removeValue(forKey: waiter) }) else { return }
        waiterCount.subtract(1, ordering: .sequentiallyConsistent)
        continuation.resume()
    }

    /// Returns when nothing of an entry can be called any more.
    package func ended(_ run: AgentEntry) async {
        let id = run.id
        await withCheckedContinuation { continuation in
            waiterCount.add(1, ordering: .sequentiallyConsistent)
            waiters.withLock { $0.ends[id, default: []].append(continuation) }
            if run.isRetired { wakeWaiters(ended: id, isIdle: false) }
        }
    }

    private func wakeWaiters(ended id: UInt64, isIdle: Bool) {
        let ready = waiters.withLock { waiters in
            var ready = waiters.ends.removeValue(forKey: id) ?? []
            if isIdle {
                ready += waiters.idle.values
                waiters.idle = [:]
            }
            return ready
        }
        guard !ready.isEmpty else { return }
        waiterCount.subtract(ready.count, ordering: .sequentiallyConsistent)
        DeliveryLane.resumption.enqueue(.work { for continuation in ready { continuation.resume() } })
    }
}

extension RequestAgent: SettlingAgent {}
