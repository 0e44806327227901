import CleanSlate
import FoundationEssentials
import Glibc
import Testing

@testable import Persistence

/// Random walks of the state a store decides with, beside a dictionary that is always right. The disk is a dictionary, too; reads and batches
/// are under way while everything else happens (S0-1, CT-5, defect 57).
@Suite(.leavesNothing, .onOwnThread) struct MemoryStateModelTests {
    private struct Walk {
        typealias Content = [EntryKey: [String: Int64]]

        var state: MemoryState
        var generator: Generator
        var truth: Content = [:]
        var disk: [EntryKey: [StoreEntry]] = [:]
        var batch: WriteBackQueue.Batch?
        var reads: [(key: EntryKey, version: UInt64, rows: [StoreEntry])] = []
        var generation: Int64 = 0
        var time: Int64 = 0
        var answers = 0
        var staleReads = 0

        init(seed: UInt64, memoryBytes: Int) {
            var limits = StoreLimits()
            limits.memoryBytes = memoryBytes
            limits.batchKeys = 3
            limits.removalsWithoutDisk = 5
            limits.pendingBytes = .max
            state = MemoryState(limits: limits, writesThrough: false)
            state.gainDisk()
            generator = Generator(seed)
        }

        var now: MemoryState.Moment { MemoryState.Moment(wall: time, monotonic: .milliseconds(time)) }

        mutating func key() -> EntryKey { EntryKey("k\(generator.below(5))", partition: "p\(generator.below(2))") }

        mutating func entry(_ key: EntryKey) -> StoreEntry {
            generation += 1
            return StoreEntry(
                key: key, variant: "v\(generator.below(2))", metadata: Data(count: generator.below(400)),
                body: EntryBody(storage: .data(Data())),
                storedAt: Date(timeIntervalSince1970: 0), freshUntil: nil, isRevalidatable: true, generation: generation)
        }

        func summary(_ entries: [StoreEntry]) -> [String: Int64] {
            Dictionary(entries.map { ($0.variant, $0.generation) }, uniquingKeysWith: { _, _ in -1 })
        }

        mutating func step() {
            time += 10
            switch generator.below(25) {
            case 0..<6: put()
            case 6: remove()
            case 7: removeVariant()
            case 8 where generator.below(4) == 0: clear()
            case 9..<14: lookup()
            case 14..<17: beginRead()
            case 17..<20: endRead()
            case 20: takeBatch()
            case 21: finishBatch()
            case 22 where generator.below(4) == 0: _ = state.slots.removeAll()
            case 23 where generator.below(6) == 0: loseDisk()
            case 24: learnKeys()
            default: break
            }
        }

        mutating func put() {
            let entry = entry(key())
            let change = state.put(entry, ticket: nil, at: now)
            #expect(change.outcome == .accepted)
            truth[entry.key, default: [:]][entry.variant] = entry.generation
        }

        mutating func remove() {
            let key = key()
            _ = state.remove(key, at: now)
            truth[key] = nil
        }

        mutating func removeVariant() {
            let key = key()
            _ = state.remove(variant: "v0", of: key, at: now)
            truth[key]?["v0"] = nil
        }

        mutating func clear() {
            if generator.below(2) == 0 {
                _ = state.clearAll(at: now)
                truth = [:]
            } else {
                _ = state.clear(partition: "p1", at: now)
                truth = truth.filter { $0.key.partition != "p1" }
            }
        }

        mutating func lookup() {
            let key = key()
            guard case .entries(let entries) = state.lookup(key, at: now).answer else { return }
            answers += 1
            let found = summary(entries)
            #expect(found == truth[key] ?? [:])
        }

        mutating func beginRead() {
            let key = key()
            reads.append((key, state.beginLoad(key), disk[key] ?? []))
        }

        mutating func endRead() {
            guard !reads.isEmpty else { return }
            let read = reads.remove(at: generator.below(reads.count))
            let end = state.endLoad(read.key, version: read.version, rows: read.rows, lastUsed: 0, at: now, isFinal: false)
            guard let entries = end.entries else {
                staleReads += 1
                return
            }
            answers += 1
            let found = summary(entries)
            #expect(found == truth[read.key] ?? [:])
        }

        /// Nothing is being written while the keys are read.
        mutating func learnKeys() {
            guard batch == nil else { return }
            var filter = KeyFilter(seed: 1)
            for key in disk.keys { filter.insert(key) }
            state.learn(filter)
        }

        mutating func takeBatch() {
            guard batch == nil, !state.queue.isEmpty else { return }
            batch = state.takeBatch()
            // The transaction commits now; the state hears of it later.
            if generator.below(4) > 0, let batch { apply(batch) } else { isFailing = true }
        }

        private var isFailing = false

        mutating func finishBatch() {
            guard let batch else { return }
            self.batch = nil
            if isFailing { state.postpone(batch, at: now) } else { _ = state.commit(refused: []) }
            isFailing = false
        }

        mutating func apply(_ batch: WriteBackQueue.Batch) {
            if batch.clearsAll { disk = [:] }
            disk = disk.filter { !batch.clearedPartitions.contains(ExactString($0.key.partition)) }
            for (key, write) in batch.writes { disk[key] = write.applied(to: disk[key] ?? []) }
        }

        /// Memory alone knows less from now on, and what it knows is all there is.
        mutating func loseDisk() {
            finishBatch()
            let taken = state.queue.isEmpty ? nil : state.takeBatch()
            _ = state.loseDisk(taken, at: now)
            reads = []
            truth = [:]
            for key in state.slots.keys { truth[key] = state.slots.peek(key).map { summary($0.entries) } }
            for _ in 0..<generator.below(12) {
                switch generator.below(4) {
                case 0: remove()
                case 1: put()
                default: lookupWithoutDisk()
                }
            }
            state.gainDisk()
            // What memory forgets from here on was never written: it is gone, but must not come back older.
            for key in truth.keys where state.slots.peek(key) == nil { truth[key] = summary(state.overlay(disk[key] ?? [], key)) }
            for key in disk.keys where truth[key] == nil { truth[key] = summary(state.overlay(disk[key] ?? [], key)) }
            forgetWhatWasNeverWritten()
        }

        mutating func lookupWithoutDisk() {
            let key = key()
            guard case .entries(let entries) = state.lookup(key, at: now).answer else {
                Issue.record("without a disk memory answers")
                return
            }
            let found = summary(entries)
            // Evicted meanwhile is possible; another version is not.
            #expect(found.allSatisfy { truth[key]?[$0.key] == $0.value })
        }

        private mutating func forgetWhatWasNeverWritten() {
            _ = state.slots.removeAll()
            for key in truth.keys { truth[key] = summary(state.overlay(disk[key] ?? [], key)) }
        }
    }

    /// A quarter of what `SCOPEDNET_SOAK=1` asks for.
    private static let seeds = 1...(getenv("SCOPEDNET_SOAK").map { String(cString: $0) } == "1" ? 40 : 10)

    @Test(arguments: [0, 20_000, 1 << 20])
    func memoryAndDiskTogetherAreAlwaysRight(memoryBytes: Int) {
        var answers = 0
        var stale = 0
        for seed in Self.seeds {
            var walk = Walk(seed: UInt64(seed), memoryBytes: memoryBytes)
            for _ in 0..<1500 { walk.step() }
            answers += walk.answers
            stale += walk.staleReads
        }
        #expect(answers > 1000 && stale > 0)
    }
}
