import FoundationEssentials
import Testing

@testable import Persistence

/// What becomes of changes that meet.
extension WriteBackQueueTests {
    private func update(_ generation: Int64, _ variant: String = "", _ metadata: [UInt8] = [9]) -> MetadataUpdate {
        MetadataUpdate(variant: variant, generation: generation, metadata: Data(metadata), freshUntil: nil, isRevalidatable: true)
    }

    private func take(_ queue: inout WriteBackQueue, _ key: String = "a") -> WriteBackQueue.Write? {
        queue.takeBatch(keys: .max, bytes: .max).writes.first { $0.key.name == key }?.write
    }

    @Test func whatAWriteCosts() {
        var queue = WriteBackQueue()
        let first = entry("a", generation: 1)
        queue.put(.init(entry: first), at: .zero)
        #expect(queue.cost == 64 + first.memoryCost && !queue.isEmpty)
        queue.put(.init(entry: entry("a", generation: 2)), at: .zero)
        #expect(queue.cost == 64 + first.memoryCost, "replaced")
        queue.update(update(7), of: EntryKey("b"), at: .zero)
        #expect(queue.cost == 64 + first.memoryCost + 64 + 1 + 64)
        queue.clear(partition: "", at: .zero)
        #expect(queue.cost == 0 && queue.count == 0 && !queue.isEmpty)
    }

    @Test func anUpdateOfAnotherGenerationIsKeptBesideThePut() {
        var queue = WriteBackQueue()
        queue.put(.init(entry: entry("a", generation: 2)), at: .zero)
        queue.update(update(1, "v", [1]), of: EntryKey("a"), at: .zero)
        queue.update(update(1, "v", [2]), of: EntryKey("a"), at: .zero)
        let write = take(&queue)
        #expect(write?.updates.map(\.metadata) == [Data([2])] && write?.puts.map(\.entry.metadata) == [Data()])
    }

    @Test func aPutTakesThePlaceOfWhatWaitedForItsVariant() {
        var queue = WriteBackQueue()
        let key = EntryKey("a")
        for (generation, variant) in [(Int64(1), "v"), (2, "w")] {
            queue.update(update(generation, variant), of: key, at: .zero)
            queue.remove(variant: variant, of: key, at: .zero)
            queue.update(update(generation, variant), of: key, at: .zero)
        }
        queue.put(.init(entry: entry("a", "v", generation: 3)), at: .zero)
        let write = take(&queue)
        #expect(write?.deletedVariants == ["w"] && write?.updates.map(\.variant) == ["w"] && write?.puts.count == 1)
        #expect(write?.isInvalidation == true && write?.deletesKey == false)
    }

    @Test func aRemovedVariantTakesItsChangesAlong() {
        var queue = WriteBackQueue()
        let key = EntryKey("a")
        for variant in ["v", "w"] { queue.put(.init(entry: entry("a", variant, generation: 1)), at: .zero) }
        queue.update(update(7, "v"), of: key, at: .zero)
        queue.remove(variant: "v", of: key, at: .zero)
        let write = take(&queue)
        #expect(write?.puts.map(\.entry.variant) == ["w"] && write?.updates.isEmpty == true && write?.deletedVariants == ["v"])
        queue.remove(key, isInvalidation: false, at: .zero)
        queue.remove(variant: "v", of: key, at: .zero)
        let whole = take(&queue)
        #expect(whole?.deletesKey == true && whole?.deletedVariants.isEmpty == true && whole?.isInvalidation == true)
    }

    @Test func anInvalidationIsNotForgottenByALaterRemoval() {
        var queue = WriteBackQueue()
        queue.remove(EntryKey("a"), isInvalidation: true, at: .zero)
        queue.remove(EntryKey("a"), isInvalidation: false, at: .zero)
        let write = take(&queue)
        #expect(write?.isInvalidation == true)
    }

    @Test func aClearOfAllLeavesNothingAndComesFirst() {
        var queue = WriteBackQueue()
        queue.put(.init(entry: entry("a", generation: 1)), at: .seconds(1))
        queue.clear(partition: "p", at: .seconds(1))
        queue.clearAll(at: .seconds(2))
        #expect(queue.clears("any") && queue.count == 0 && queue.oldest == .seconds(2))
        let batch = queue.takeBatch(keys: .max, bytes: .max)
        #expect(batch.clearsAll && batch.clearedPartitions.isEmpty && batch.hasInvalidations && !batch.isEmpty)
        #expect(!queue.clears("any") && queue.isEmpty && queue.takeBatch(keys: .max, bytes: .max).isEmpty)
    }

    @Test func readersSeeChangesOnTopOfTheDisk() {
        let rows = [entry("a", "u", generation: 1), entry("a", "v", generation: 2), entry("a", "w", generation: 3)]
        var write = WriteBackQueue.Write()
        write.deletedVariants = ["u"]
        write.puts = [.init(entry: entry("a", "v", generation: 9))]
        write.updates = [update(3, "w"), update(99, "x")]
        let seen = write.applied(to: rows)
        #expect(seen.map(\.generation) == [3, 9] && seen[0].metadata == Data([9]))
        write.deletesKey = true
        let after = write.applied(to: rows).map(\.generation)
        #expect(after == [9])
    }

    /// What comes back into the queue stands before what came since.
    @Test func laterChangesFollowEarlierOnes() {
        var earlier = WriteBackQueue.Write()
        earlier.puts = ["u", "v", "w"].enumerated().map { .init(entry: entry("a", $0.element, generation: Int64($0.offset + 1))) }
        earlier.updates = [update(50, "x"), update(51, "y"), update(52, "z")]
        earlier.deletedVariants = ["n", "o"]
        var newer = WriteBackQueue.Write()
        newer.puts = [.init(entry: entry("a", "u", generation: 10)), .init(entry: entry("a", "n", generation: 11))]
        newer.deletedVariants = ["v", "x"]
        newer.updates = [update(3, "w", [1]), update(51, "y", [2])]
        newer.isInvalidation = true
        earlier.append(newer)
        #expect(earlier.puts.map(\.entry.generation) == [3, 10, 11] && earlier.puts[0].entry.metadata == Data([1]))
        #expect(earlier.updates.map(\.generation) == [52, 51] && earlier.updates[1].metadata == Data([2]))
        #expect(earlier.deletedVariants == ["o", "v", "x"] && earlier.isInvalidation && !earlier.deletesKey)
        var removal = WriteBackQueue.Write(deletesKey: true)
        removal.puts = [.init(entry: entry("a", generation: 12))]
        earlier.append(removal)
        #expect(earlier.deletesKey && earlier.isInvalidation && earlier.puts.map(\.entry.generation) == [12] && earlier.updates.isEmpty)
        var calm = WriteBackQueue.Write()
        calm.append(WriteBackQueue.Write())
        #expect(!calm.isInvalidation)
    }

    @Test func whatOthersInvalidatedIsDroppedIfItHadATicket() {
        var queue = WriteBackQueue()
        let ticket = PutTicket(position: 1, shared: 1)
        queue.put(.init(entry: entry("a", "t", generation: 1), ticket: ticket), at: .zero)
        queue.put(.init(entry: entry("a", "u", generation: 2)), at: .zero)
        queue.put(.init(entry: entry("b", generation: 3), ticket: ticket), at: .zero)
        queue.dropTicketedPuts { $0.name == "a" }
        #expect(queue.cost == 128 + entry("a", "u", generation: 2).memoryCost + entry("b", generation: 3).memoryCost)
        let batch = queue.takeBatch(keys: .max, bytes: .max)
        #expect(batch.writes.flatMap { $0.write.puts.map(\.entry.generation) } == [2, 3] && queue.cost == 0)
    }

    @Test func aRestoredBatchDoesNotBringBackWhatWasClearedSince() {
        var queue = WriteBackQueue()
        queue.put(.init(entry: entry("a", partition: "p", generation: 1)), at: .zero)
        queue.put(.init(entry: entry("b", partition: "q", generation: 2)), at: .zero)
        queue.clear(partition: "r", at: .zero)
        let batch = queue.takeBatch(keys: .max, bytes: .max)
        queue.clear(partition: "p", at: .seconds(3))
        queue.restore(batch, at: .seconds(4))
        #expect(queue.oldest == .seconds(4))
        let again = queue.takeBatch(keys: .max, bytes: .max)
        #expect(again.writes.map(\.key.name) == ["b"] && again.clearedPartitions == [ExactString("p"), ExactString("r")])
        queue.restore(WriteBackQueue.Batch(), at: .seconds(5))
        #expect(queue.isEmpty && queue.oldest == nil)
    }

    @Test func theOrderOfKeysIsThatOfTheirFirstChange() {
        var queue = WriteBackQueue()
        for index in 0..<3_000 { queue.put(.init(entry: entry("\(index)", generation: Int64(index))), at: .seconds(1)) }
        queue.put(.init(entry: entry("0", generation: 9_999)), at: .seconds(2))
        var taken: [String] = []
        var sizes: [Int] = []
        while !queue.isEmpty {
            let batch = queue.takeBatch(keys: 700, bytes: .max)
            sizes.append(batch.writes.count)
            taken += batch.writes.map(\.key.name)
        }
        #expect(taken == (0..<3_000).map(String.init) && sizes == [700, 700, 700, 700, 200] && queue.cost == 0 && queue.oldest == nil)
        queue.put(.init(entry: entry("new", generation: 1)), at: .seconds(9))
        #expect(queue.oldest == .seconds(9) && queue.count == 1)
    }

    @Test func removalsKeepWhatWasAnInvalidation() {
        var queue = WriteBackQueue()
        queue.remove(EntryKey("a"), isInvalidation: true, at: .zero)
        queue.put(.init(entry: entry("b", generation: 1)), at: .zero)
        queue.clear(partition: "p", at: .zero)
        let failed = queue.takeBatch(keys: 1, bytes: .max)
        queue.becomeRemovals(with: failed, limit: 2, at: .seconds(1))
        let batch = queue.takeBatch(keys: .max, bytes: .max)
        let removals = Dictionary(uniqueKeysWithValues: batch.writes.map { ($0.key.name, $0.write.isInvalidation) })
        #expect(removals == ["a": true, "b": false] && batch.clearedPartitions == [ExactString("p")] && !batch.clearsAll)
        queue.becomeRemovals(with: WriteBackQueue.Batch(), limit: 2, at: .seconds(1))
        #expect(queue.isEmpty && queue.oldest == nil)
    }

    @Test func bodiesThatWereMovedForNothingAreDropped() throws {
        let folder = try TrustedFolder.open("/", creates: false)
        func body(_ isTemporary: Bool) -> EntryBody {
            let layout = FrameLayout(length: 1)
            let file =
                isTemporary
                ? BodyFile(temporary: .init(folder: folder, name: "nowhere", descriptor: -1), layout: layout, checksum: 0)
                : BodyFile(stored: "/nowhere/at-all", layout: layout, checksum: 0)
            return EntryBody(storage: .file(file))
        }
        func put(_ key: String, _ body: EntryBody) -> (EntryKey, WriteBackQueue.Write) {
            let entry = StoreEntry(
                key: EntryKey(key), variant: "", metadata: Data(), body: body, storedAt: Date(milliseconds: 0), freshUntil: nil,
                isRevalidatable: true,
                generation: 1)
            var write = WriteBackQueue.Write()
            write.puts = [.init(entry: entry)]
            return (EntryKey(key), write)
        }
        var batch = WriteBackQueue.Batch()
        batch.writes = [put("moved", body(false)), put("waits", body(true)), put("memory", EntryBody(storage: .data(Data())))]
        let lost = batch.dropPlacedBodies().map(\.name)
        #expect(lost == ["moved"] && batch.writes.map(\.write.puts.count) == [0, 1, 1])
    }
}
