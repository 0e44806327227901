import FoundationEssentials
import Testing

@testable import Persistence

extension MemoryStateTests {
    // MARK: Puts

    @Test func aPutIsSeenAtOnceAndWrittenWithinTheAge() {
        var state = Self.state()
        let first = state.put(Self.entry(1), ticket: nil, at: Self.start)
        let second = state.put(Self.entry(2, EntryKey("other")), ticket: nil, at: Self.moment(after: 5))
        #expect(first.wake == .by(Self.start.monotonic + state.limits.dirtyAge) && second.wake == .none)
        #expect(state.statistics.puts == 2 && state.queue.count == 2)
        // The disk may have other variants of the key.
        let answer = Self.answer(&state)
        let overlaid = state.overlay([], Self.key).map(\.generation)
        #expect(answer == nil && overlaid == [1])
    }

    @Test func manyKeysOrManyBytesAreWrittenNow() {
        var state = Self.state { $0.batchKeys = 2 }
        let keys = (1...2).map { state.put(Self.entry(Int64($0), EntryKey("\($0)")), ticket: nil, at: Self.start).wake }
        #expect(keys[0] != .now && keys[1] == .now)
        let cost = StoreLimits.queued(Self.entry(1))
        state = Self.state { $0.batchBytes = cost + 1 }
        let below = state.put(Self.entry(1), ticket: nil, at: Self.start).wake
        #expect(below != .now)
        state = Self.state { $0.batchBytes = cost }
        let reached = state.put(Self.entry(1), ticket: nil, at: Self.start).wake
        #expect(reached == .now)
    }

    @Test func whatIsWrittenThroughWaitsForNothing() {
        var state = Self.state(writesThrough: true)
        let put = state.put(Self.entry(1), ticket: nil, at: Self.start).wake
        #expect(put == .now)
    }

    @Test func aDiskThatDoesNotKeepUpRefusesPuts() {
        let cost = Self.entry(1).memoryCost
        var state = Self.state { $0.pendingBytes = 64 + 2 * cost }
        let first = state.put(Self.entry(1), ticket: nil, at: Self.start)
        let second = state.put(Self.entry(2, EntryKey("l", partition: "p")), ticket: nil, at: Self.start)
        let third = state.put(Self.entry(3, EntryKey("m", partition: "p")), ticket: nil, at: Self.start)
        #expect(first.outcome == .accepted && second.outcome == .accepted)
        #expect(third.outcome == .overloaded && third.wake == .now && state.queue.count == 2)
    }

    @Test func theOldestVariantsGoBeyondTheLimit() {
        var state = Self.state(hasDisk: false) { $0.variantsPerKey = 2 }
        for (index, variant) in ["a", "b", "a", "c"].enumerated() {
            _ = state.put(Self.entry(Int64(index), variant: variant), ticket: nil, at: Self.start)
        }
        let left = Self.answer(&state)
        #expect(left == [2, 3])
    }

    @Test func aPutIsAUse() {
        var state = Self.state()
        Self.load(&state, [Self.entry(1)])
        _ = state.put(Self.entry(2), ticket: nil, at: Self.moment(after: 60_000))
        let wake = state.lookup(Self.key, at: Self.moment(after: 119_999)).wake
        #expect(wake == .none)
    }

    @Test func aTicketFromBeforeAnInvalidationIsRefused() {
        var state = Self.state()
        let old = state.ticket
        _ = state.remove(Self.key, at: Self.start)
        let refused = state.put(Self.entry(1), ticket: old, at: Self.start).outcome
        let accepted = state.put(Self.entry(2), ticket: state.ticket, at: Self.start).outcome
        let unconditional = state.put(Self.entry(3), ticket: nil, at: Self.start).outcome
        #expect(refused == .invalidated && accepted == .accepted && unconditional == .accepted)
    }

    @Test func aLargeBodyNeedsADisk() {
        var state = Self.state(hasDisk: false)
        let refused = state.put(Self.fileEntry(1), ticket: nil, at: Self.start).outcome
        let accepted = state.put(Self.entry(2), ticket: nil, at: Self.start).outcome
        #expect(refused == .unavailable && accepted == .accepted)
        state = Self.state()
        let stored = state.put(Self.fileEntry(1), ticket: nil, at: Self.start).outcome
        #expect(stored == .accepted)
    }

    @Test func whatMemoryLetsGoUnwrittenGoesToTheDiskFirst() {
        let cost = 128 + Self.key.byteCount + Self.entry(1).memoryCost
        var state = Self.state { $0.memoryBytes = 16 * cost }
        let keys = (0...16).map { EntryKey("\(UnicodeScalar(UInt8(97 + $0)))", partition: "p") }
        let wakes = keys.enumerated().map { state.put(Self.entry(Int64($0.offset), $0.element), ticket: nil, at: Self.start).wake }
        #expect(wakes[..<16].allSatisfy { $0 != .now } && wakes[16] == .now)
        // Once it is written nobody has to hurry.
        _ = state.takeBatch()
        _ = state.commit(refused: [])
        let clean = state.put(Self.entry(99, EntryKey("z", partition: "p")), ticket: nil, at: Self.start).wake
        #expect(clean != .now)
    }

    // MARK: Updates

    @Test func newMetadataIsSeenAtOnceAndWritten() {
        var state = Self.state()
        Self.load(&state, [Self.entry(1), Self.entry(2, variant: "v")])
        let change = state.update(Self.entry(1), Self.update(1, [7]), at: Self.start)
        #expect(change.outcome == .accepted && change.wake == .by(Self.start.monotonic + state.limits.dirtyAge))
        let metadata = state.slots.peek(Self.key)?.entries.map(\.metadata)
        #expect(metadata == [Data([7]), Data()])
        let written = state.overlay([Self.entry(1)], Self.key).map(\.metadata)
        #expect(written == [Data([7])])
    }

    @Test func anEntryThatWasReplacedIsNotUpdated() {
        var state = Self.state()
        Self.load(&state, [Self.entry(2)])
        let known = state.update(Self.entry(1), Self.update(1, [7]), at: Self.start)
        #expect(known.outcome == .invalidated && state.queue.isEmpty)
        // Where memory does not know all of a key the disk decides.
        state = Self.state()
        _ = state.put(Self.entry(2, variant: "v"), ticket: nil, at: Self.start)
        let unknown = state.update(Self.entry(1), Self.update(1, [7]), at: Self.start)
        #expect(unknown.outcome == .accepted && state.queue.write(for: Self.key)?.updates.count == 1)
    }

    @Test func anUpdateOvertakesAReadToo() {
        var state = Self.state()
        let version = state.beginLoad(Self.key)
        _ = state.update(Self.entry(1), Self.update(1, [7]), at: Self.start)
        let end = state.endLoad(Self.key, version: version, rows: [Self.entry(1)], lastUsed: 0, at: Self.start, isFinal: false)
        #expect(end.entries == nil)
    }

    @Test func withoutADiskAChangeIsNotedAsARemoval() {
        var state = Self.state(hasDisk: false)
        _ = state.put(Self.entry(1), ticket: nil, at: Self.start)
        let change = state.update(Self.entry(1), Self.update(1, [7]), at: Self.start)
        #expect(change.wake == .none && state.slots.peek(Self.key)?.entries.first?.metadata == Data([7]))
        let write = state.queue.write(for: Self.key)
        #expect(write?.deletesKey == true && write?.isInvalidation == false && write?.updates.isEmpty == true)
    }

    @Test func withoutADiskTooManyRemovalsBecomeOneOfAll() {
        var state = Self.state(hasDisk: false) { $0.removalsWithoutDisk = 3 }
        for index in 0..<3 { _ = state.put(Self.entry(Int64(index), EntryKey("\(index)")), ticket: nil, at: Self.start) }
        #expect(state.queue.count == 3)
        _ = state.put(Self.entry(3, EntryKey("3")), ticket: nil, at: Self.start)
        #expect(state.queue.count == 0 && state.queue.clears("any"))
    }

    // MARK: Removals

    @Test func aRemovalHoldsAtOnceAndIsWrittenNow() {
        var state = Self.state()
        Self.load(&state, [Self.entry(1)])
        _ = state.touch(Self.key, at: Self.start)
        let version = state.beginLoad(Self.key)
        let change = state.remove(Self.key, at: Self.start)
        let released = change.released.flatMap(\.entries).map(\.generation)
        let answer = Self.answer(&state)
        #expect(change.wake == .now && released == [1] && answer == [] && state.touches.isEmpty)
        #expect(state.queue.write(for: Self.key)?.isInvalidation == true)
        let late = state.endLoad(Self.key, version: version, rows: [Self.entry(1)], lastUsed: 0, at: Self.start, isFinal: false).entries
        #expect(late == nil)
    }

    @Test func oneVariantGoesAndTheOthersStay() {
        var state = Self.state()
        Self.load(&state, [Self.entry(1, variant: "a"), Self.entry(2, variant: "b")])
        let ticket = state.ticket
        let version = state.beginLoad(Self.key)
        let change = state.remove(variant: "a", of: Self.key, at: Self.start)
        let left = Self.answer(&state)
        #expect(change.wake == .now && left == [2])
        let late = state.endLoad(Self.key, version: version, rows: [Self.entry(1)], lastUsed: 0, at: Self.start, isFinal: false).entries
        let refused = state.put(Self.entry(3), ticket: ticket, at: Self.start).outcome
        #expect(late == nil && refused == .invalidated)
        let unknown = state.remove(variant: "a", of: EntryKey("unknown"), at: Self.start)
        #expect(unknown.wake == .now && unknown.released.isEmpty)
        #expect(state.queue.write(for: EntryKey("unknown"))?.deletedVariants == ["a"])
    }

    @Test func withoutADiskRemovalsAreBoundedToo() {
        var state = Self.state(hasDisk: false) { $0.removalsWithoutDisk = 2 }
        for index in 0..<3 { _ = state.remove(EntryKey("\(index)"), at: Self.start) }
        #expect(state.queue.clears("any"))
        state = Self.state(hasDisk: false) { $0.removalsWithoutDisk = 2 }
        for index in 0..<3 { _ = state.remove(variant: "v", of: EntryKey("\(index)"), at: Self.start) }
        #expect(state.queue.clears("any"))
        state = Self.state(hasDisk: false) { $0.removalsWithoutDisk = 2 }
        for index in 0..<3 { _ = state.update(Self.entry(1, EntryKey("\(index)")), Self.update(1, []), at: Self.start) }
        #expect(state.queue.clears("any"))
    }

    @Test func anEntryThatWasReplacedIsNotRemoved() {
        var state = Self.state()
        Self.load(&state, [Self.entry(2)])
        let refused = state.remove(Self.entry(1), at: Self.start).outcome
        let still = Self.answer(&state)
        let accepted = state.remove(Self.entry(2), at: Self.start).outcome
        let gone = Self.answer(&state)
        #expect(refused == .invalidated && still == [2] && accepted == .accepted && gone == [])
    }

    @Test func aPartitionIsForgottenAndOthersStay() {
        var state = Self.state()
        let other = EntryKey("k", partition: "q")
        for key in [Self.key, other] {
            Self.load(&state, [Self.entry(1, key)], key)
            _ = state.touch(key, at: Self.start)
        }
        let versions = [Self.key, other].map { state.beginLoad($0) }
        let change = state.clear(partition: "p", at: Self.start)
        #expect(change.wake == .now && change.released.count == 1 && Array(state.touches.keys) == [other])
        let answers = [Self.answer(&state), Self.answer(&state, other)]
        #expect(answers == [nil, [1]])
        #expect(state.loads[Self.key]?.version != versions[0] && state.loads[other]?.version == versions[1])
        let refused = state.put(Self.entry(2), ticket: PutTicket(position: 0, shared: 0), at: Self.start).outcome
        #expect(refused == .invalidated && state.queue.clears("p") && !state.queue.clears("q"))
    }

    @Test func aClearLeavesNothing() {
        var state = Self.state()
        Self.load(&state, [Self.entry(1)])
        _ = state.touch(Self.key, at: Self.start)
        let (ticket, version) = (state.ticket, state.beginLoad(Self.key))
        let change = state.clearAll(at: Self.start)
        #expect(change.wake == .now && change.released.count == 1 && state.touches.isEmpty && state.slots.count == 0)
        let refused = state.put(Self.entry(2), ticket: ticket, at: Self.start).outcome
        #expect(refused == .invalidated && state.queue.clears("any") && state.loads[Self.key]?.version != version)
    }
}
