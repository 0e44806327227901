import CleanSlate
import FoundationEssentials
import Testing

@testable import Persistence

@Suite(.leavesNothing) struct WriteBackQueueTests {
    func entry(_ key: String, _ variant: String = "", partition: String = "", generation: Int64) -> StoreEntry {
        StoreEntry(
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
