import CleanSlate
import FoundationEssentials
import Testing

@testable import Persistence

@Suite(.leavesNothing) struct XXHash64Tests {
    /// Of the reference implementation.
    @Test(arguments: [
        ("", UInt64(0), UInt64(0xEF46_DB37_51D8_E999)), ("a", 0, 0xD24E_C4F1_A98C_6E5B), ("abc", 0, 0x44BC_2CF5_AD77_0999),
        ("Nobody inspects the spammish repetition", 0, 0xFBCE_A83C_8A37_8BF1),
    ])
    func knownSums(text: String, seed: UInt64, sum: UInt64) {
        let found = text.withBytes { XXHash64.hash($0, seed: seed) }
        #expect(found == sum)
    }

    @Test func everyBitCounts() {
        let bytes = [UInt8](repeating: 7, count: 100)
        let sum = bytes.withUnsafeBytes { XXHash64.hash($0, seed: 1) }
        for index in 0..<800 {
            var other = bytes
            other[index / 8] ^= 1 << UInt8(index % 8)
            let changed = other.withUnsafeBytes { XXHash64.hash($0, seed: 1) }
            #expect(changed != sum)
        }
    }

    @Test func fieldsAreToldApart() {
        var first = Checksum()
        first.add("ab")
        first.add("c")
        var second = Checksum()
        second.add("a")
        second.add("bc")
        #expect(first.value != second.value)
    }
}

@Suite(.leavesNothing) struct FrameLayoutTests {
    @Test func framesCoverTheBody() {
        for length in [0, 1, 65_535, 65_536, 65_537, 1_000_000] {
            let layout = FrameLayout(length: length)
            let covered = (0..<layout.frameCount).reduce(0) { $0 + layout.frame($1).count }
            #expect(covered == length && layout.fileSize == length + 8 * layout.frameCount)
        }
        let layout = FrameLayout(length: 200_000)
        #expect(layout.frames(of: 0..<0).isEmpty)
        #expect(layout.frames(of: 65_535..<65_537) == 0..<2)
        #expect(layout.frames(of: 65_536..<131_072) == 1..<2)
        #expect(layout.frames(of: 199_999..<200_000) == 3..<4)
    }
}

@Suite(.leavesNothing) struct EvictionPolicyTests {
    @Test func itBeginsAt95AndEndsAt90PerCent() {
        let policy = EvictionPolicy(limit: 1000, used: 0, free: nil)
        #expect(policy.bytesToFree(used: 950) == nil)
        #expect(policy.bytesToFree(used: 951) == 51)
        #expect(EvictionPolicy(limit: 1000, used: 100, free: 400).capacity == 100)
        #expect(EvictionPolicy(limit: 1000, used: .max, free: .max).capacity == 1000)
        #expect(EvictionPolicy(limit: -5, used: 0, free: nil).capacity == 0)
        #expect(EvictionPolicy(limit: 0, used: 0, free: nil).bytesToFree(used: 1) == 1)
        #expect(EvictionPolicy(limit: .max, used: 0, free: nil).bytesToFree(used: 1 << 40) == nil)
    }
}

@Suite(.leavesNothing) struct InvalidationLogTests {
    @Test func ticketsFromBeforeAreRefused() {
        var log = InvalidationLog()
        let key = EntryKey("a", partition: "p")
        let start = log.position
        #expect(log.isCurrent(key, since: start))
        log.record(EntryKey("b", partition: "p"))
        #expect(log.isCurrent(key, since: start))
        log.record(key)
        #expect(!log.isCurrent(key, since: start) && log.isCurrent(key, since: log.position))
        let second = log.position
        log.record(partition: "p")
        #expect(!log.isCurrent(key, since: second) && log.isCurrent(EntryKey("a"), since: second))
        let third = log.position
        log.recordAll()
        #expect(!log.isCurrent(EntryKey("a"), since: third) && log.isCurrent(EntryKey("a"), since: log.position))
    }

    @Test func whatItForgetsItRefuses() {
        var log = InvalidationLog(limit: 10)
        let start = log.position
        for index in 0..<100 { log.record(EntryKey("\(index)")) }
        let isOld = log.isCurrent(EntryKey("never invalidated"), since: start)
        let isNew = log.isCurrent(EntryKey("never invalidated"), since: log.position)
        let isKnown = (90..<100).contains { log.isCurrent(EntryKey("\($0)"), since: UInt64($0)) }
        #expect(!isOld && isNew && !isKnown)
    }
}

@Suite(.leavesNothing) struct WriteBackQueueTests {
    private func entry(_ key: String, _ variant: String = "", partition: String = "", generation: Int64) -> Entry {
        Entry(
            key: EntryKey(key, partition: partition), variant: variant, metadata: Data(), body: EntryBody(storage: .data(Data())),
            storedAt: Date(timeIntervalSince1970: 0), freshUntil: nil, isRevalidatable: true, generation: generation)
    }

    @Test func laterChangesReplaceEarlierOnes() {
        var queue = WriteBackQueue()
        queue.put(.init(entry: entry("a", generation: 1)), at: .seconds(1))
        queue.put(.init(entry: entry("a", generation: 2)), at: .seconds(2))
        queue.put(.init(entry: entry("a", "v", generation: 3)), at: .seconds(3))
        queue.update(
            MetadataUpdate(variant: "v", generation: 3, metadata: Data([1]), freshUntil: nil, isRevalidatable: true), of: EntryKey("a"),
            at: .seconds(4))
        #expect(queue.count == 1 && queue.oldest == .seconds(1))
        let batch = queue.takeBatch(keys: 10, bytes: 1 << 20)
        #expect(batch.writes.map { $0.write.puts.map(\.entry.generation) } == [[2, 3]])
        #expect(batch.writes[0].write.puts[1].entry.metadata == Data([1]))
        #expect(queue.isEmpty && queue.cost == 0 && queue.oldest == nil)
    }

    @Test func aClearDropsWhatCameBeforeAndComesFirst() {
        var queue = WriteBackQueue()
        queue.put(.init(entry: entry("a", partition: "p", generation: 1)), at: .zero)
        queue.put(.init(entry: entry("a", partition: "q", generation: 2)), at: .zero)
        queue.clear(partition: "p", at: .zero)
        queue.put(.init(entry: entry("b", partition: "p", generation: 3)), at: .zero)
        let batch = queue.takeBatch(keys: 10, bytes: 1 << 20)
        #expect(batch.clearedPartitions == [ExactString("p")] && batch.hasInvalidations)
        #expect(batch.writes.flatMap { $0.write.puts.map(\.entry.generation) } == [2, 3])
    }

    @Test func batchesAreBounded() {
        var queue = WriteBackQueue()
        for index in 0..<100 { queue.put(.init(entry: entry("\(index)", generation: Int64(index))), at: .zero) }
        let first = queue.takeBatch(keys: 30, bytes: .max)
        let second = queue.takeBatch(keys: 100, bytes: 1)
        #expect(first.writes.count == 30 && second.writes.count == 1 && queue.count == 69)
        #expect(queue.oldest != nil)
    }

    @Test func whatComesBackStandsBehindWhatCameSince() {
        var queue = WriteBackQueue()
        queue.put(.init(entry: entry("a", generation: 1)), at: .zero)
        queue.put(.init(entry: entry("a", "v", generation: 2)), at: .zero)
        queue.put(.init(entry: entry("b", generation: 3)), at: .zero)
        let batch = queue.takeBatch(keys: 10, bytes: .max)
        queue.put(.init(entry: entry("a", generation: 4)), at: .seconds(5))
        queue.remove(EntryKey("b"), isInvalidation: true, at: .seconds(5))
        queue.restore(batch, at: .seconds(6))
        let again = queue.takeBatch(keys: 10, bytes: .max)
        let writes = Dictionary(uniqueKeysWithValues: again.writes.map { ($0.key.name, $0.write) })
        #expect(writes["a"]?.puts.map(\.entry.generation).sorted() == [2, 4])
        #expect(writes["b"]?.deletesKey == true && writes["b"]?.puts.isEmpty == true && writes["b"]?.isInvalidation == true)
        #expect(queue.cost == 0)
    }

    @Test func withoutADiskOnlyRemovalsAreLeft() {
        var queue = WriteBackQueue()
        for index in 0..<5 { queue.put(.init(entry: entry("\(index)", generation: Int64(index))), at: .zero) }
        let failed = queue.takeBatch(keys: 2, bytes: .max)
        queue.becomeRemovals(with: failed, limit: 10, at: .zero)
        let batch = queue.takeBatch(keys: 10, bytes: .max)
        #expect(batch.writes.count == 5 && batch.writes.allSatisfy { $0.write.deletesKey && $0.write.puts.isEmpty })
        #expect(!batch.hasInvalidations)
        queue.becomeRemovals(with: batch, limit: 4, at: .zero)
        let all = queue.takeBatch(keys: 10, bytes: .max)
        #expect(all.clearsAll && all.writes.isEmpty)
    }
}
