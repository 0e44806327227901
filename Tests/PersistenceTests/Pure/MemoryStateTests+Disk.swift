import FoundationEssentials
import Testing

@testable import Persistence

extension MemoryStateTests {
    // MARK: Writing

    @Test func aReadDuringACommitIsTriedAgain() {
        var state = Self.state()
        let other = EntryKey("other")
        _ = state.put(Self.entry(1), ticket: nil, at: Self.start)
        _ = state.takeBatch()
        let versions = [Self.key, other].map { state.beginLoad($0) }
        _ = state.commit(refused: [])
        #expect(state.loads[Self.key]?.version != versions[0] && state.loads[other]?.version == versions[1])
        #expect(!state.inFlight.concerns(Self.key))
    }

    @Test func aPutThatCameTooLateIsForgotten() {
        var state = Self.state()
        for key in [Self.key, EntryKey("other")] { Self.load(&state, [Self.entry(1, key)], key) }
        let released = state.commit(refused: [Self.key]).flatMap(\.entries).map(\.key)
        let answers = [Self.answer(&state), Self.answer(&state, EntryKey("other"))]
        #expect(released == [Self.key] && answers == [nil, [1]])
    }

    @Test func aBatchThatHasToWaitGoesBack() {
        var state = Self.state()
        _ = state.put(Self.entry(1), ticket: nil, at: Self.start)
        let batch = state.takeBatch()
        let version = state.beginLoad(Self.key)
        state.postpone(batch, at: Self.start)
        #expect(state.queue.write(for: Self.key)?.puts.count == 1 && !state.inFlight.concerns(Self.key))
        #expect(state.loads[Self.key]?.version != version)
    }

    @Test func batchesAreBoundedByKeysAndBytes() {
        var state = Self.state { $0.batchKeys = 2 }
        for index in 0..<3 { _ = state.put(Self.entry(Int64(index), EntryKey("\(index)")), ticket: nil, at: Self.start) }
        let sizes = (0..<2).map { _ in state.takeBatch().writes.count }
        #expect(sizes == [2, 1])
        state = Self.state { $0.batchBytes = 1 }
        for index in 0..<2 { _ = state.put(Self.entry(Int64(index), EntryKey("\(index)")), ticket: nil, at: Self.start) }
        let first = state.takeBatch().writes.count
        #expect(first == 1)
    }

    // MARK: The disk comes and goes

    @Test func aLostDiskLeavesMemoryAndWhatIsToBeRemoved() {
        var state = Self.state()
        let (waiting, file) = (EntryKey("waiting"), EntryKey("file"))
        _ = state.put(Self.entry(1), ticket: nil, at: Self.start)
        let failed = state.takeBatch()
        _ = state.put(Self.entry(2, waiting), ticket: nil, at: Self.start)
        _ = state.put(Self.fileEntry(3, file), ticket: nil, at: Self.start)
        _ = state.touch(Self.key, at: Self.start)
        let version = state.beginLoad(Self.key)
        let lost = state.loseDisk(failed, at: Self.start)
        #expect(lost.bodies.count == 1 && lost.released.flatMap(\.entries).map(\.generation) == [3])
        #expect(state.touches.isEmpty && state.touchesSince == nil && state.loads[Self.key]?.version != version)
        let answers = [Self.answer(&state), Self.answer(&state, waiting), Self.answer(&state, file)]
        #expect(answers == [[1], [2], []])
        let removals = [Self.key, waiting, file].compactMap { state.queue.write(for: $0) }
        #expect(removals.count == 3 && removals.allSatisfy { $0.deletesKey && $0.puts.isEmpty && !$0.isInvalidation })
        #expect(!state.inFlight.concerns(Self.key))
    }

    @Test func whatWasMadeWithoutADiskStaysComplete() {
        var state = Self.state(hasDisk: false)
        _ = state.put(Self.entry(1), ticket: nil, at: Self.start)
        state.gainDisk()
        let known = Self.answer(&state)
        let unknown = Self.answer(&state, EntryKey("other"))
        #expect(known == [1] && unknown == nil)
    }

    @Test func aReplacedDatabaseTakesTheFilesAlong() {
        var state = Self.state()
        let file = EntryKey("file")
        Self.load(&state, [Self.entry(1)])
        Self.load(&state, [Self.fileEntry(2, file)], file)
        let version = state.beginLoad(Self.key)
        let released = state.replaceDisk().flatMap(\.entries).map(\.generation)
        let answers = [Self.answer(&state), Self.answer(&state, file)]
        #expect(released == [2] && answers == [[1], nil] && state.loads[Self.key]?.version != version)
    }

    // MARK: Other processes

    @Test func whatOthersChangedIsReadAgain() {
        var state = Self.state()
        let (same, other) = (EntryKey("l", partition: "p"), EntryKey("k", partition: "q"))
        for key in [Self.key, same, other] { Self.load(&state, [Self.entry(1, key)], key) }
        let version = state.beginLoad(Self.key)
        let change = ForeignChange(partition: "p", name: "k", isInvalidation: false)
        let released = state.apply([change], upTo: 7).flatMap(\.entries).map(\.key)
        #expect(released == [Self.key] && state.sharedPosition == 7 && state.loads[Self.key]?.version != version)
        let answers = [Self.answer(&state), Self.answer(&state, same), Self.answer(&state, other)]
        #expect(answers == [nil, [1], [1]])
        let accepted = state.put(Self.entry(2), ticket: PutTicket(position: 0, shared: 0), at: Self.start).outcome
        #expect(accepted == .accepted)
        _ = state.apply([], upTo: 3)
        #expect(state.sharedPosition == 7 && state.ticket.shared == 7)
    }

    @Test(arguments: [
        (ForeignChange(partition: "p", name: "k", isInvalidation: true), [true, false, false]),
        (ForeignChange(partition: "p", name: nil, isInvalidation: true), [true, true, false]),
        (ForeignChange(partition: nil, name: nil, isInvalidation: true), [true, true, true]),
    ])
    func whatOthersInvalidatedIsNotPutAgain(change: ForeignChange, isConcerned: [Bool]) {
        let keys = [Self.key, EntryKey("l", partition: "p"), EntryKey("k", partition: "q")]
        var state = Self.state()
        for key in keys { Self.load(&state, [Self.entry(1, key)], key) }
        let ticket = state.ticket
        for key in keys { _ = state.put(Self.entry(2, key, variant: "ticketed"), ticket: ticket, at: Self.start) }
        _ = state.takeBatch()
        for key in keys { _ = state.put(Self.entry(3, key, variant: "later"), ticket: ticket, at: Self.start) }
        _ = state.put(Self.entry(4, variant: "unconditional"), ticket: nil, at: Self.start)
        _ = state.apply([change], upTo: 1)
        for (key, isConcerned) in zip(keys, isConcerned) {
            let waiting = state.queue.write(for: key)?.puts.map(\.entry.generation)
            let inFlight = state.inFlight.writes[key]?.puts.map(\.entry.generation)
            #expect(waiting == (isConcerned ? [] : [3]) + (key == Self.key ? [4] : []) && inFlight == (isConcerned ? [] : [2]))
            let outcome = state.put(Self.entry(5, key), ticket: ticket, at: Self.start).outcome
            #expect(outcome == (isConcerned ? .invalidated : .accepted))
        }
    }

    @Test func aLogThatDoesNotReachBackForgetsEverything() {
        var state = Self.state()
        Self.load(&state, [Self.entry(1)])
        let (ticket, version) = (state.ticket, state.beginLoad(Self.key))
        _ = state.put(Self.entry(2), ticket: ticket, at: Self.start)
        _ = state.takeBatch()
        _ = state.put(Self.entry(3, variant: "v"), ticket: ticket, at: Self.start)
        let released = state.forgetEverythingKnown(upTo: 9)
        #expect(released.count == 1 && state.slots.count == 0 && state.sharedPosition == 9 && state.loads[Self.key]?.version != version)
        #expect(state.queue.write(for: Self.key)?.puts.isEmpty == true && state.inFlight.writes[Self.key]?.puts.isEmpty == true)
        let refused = state.put(Self.entry(4), ticket: ticket, at: Self.start).outcome
        #expect(refused == .invalidated)
    }
}
