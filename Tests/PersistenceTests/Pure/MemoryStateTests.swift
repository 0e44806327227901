import CleanSlate
import FoundationEssentials
import Testing

@testable import Persistence

/// What a store decides without asking the disk, one decision at a time; ``MemoryStateModelTests`` takes them all in any order.
@Suite(.leavesNothing) struct MemoryStateTests {
    static let key = EntryKey("k", partition: "p")
    static let start = MemoryState.Moment(wall: 1_000_000, monotonic: .seconds(100))

    static func moment(after milliseconds: Int64) -> MemoryState.Moment {
        MemoryState.Moment(wall: start.wall + milliseconds, monotonic: start.monotonic + .milliseconds(milliseconds))
    }

    static func state(writesThrough: Bool = false, hasDisk: Bool = true, _ change: (inout StoreLimits) -> Void = { _ in }) -> MemoryState {
        var limits = StoreLimits()
        limits.memoryBytes = 64 << 10
        limits.pendingBytes = .max
        change(&limits)
        var state = MemoryState(limits: limits, writesThrough: writesThrough)
        if hasDisk { state.gainDisk() } else { _ = state.loseDisk(nil, at: start) }
        return state
    }

    static func entry(_ generation: Int64, _ key: EntryKey = key, variant: String = "", metadata: Int = 0) -> StoreEntry {
        StoreEntry(
            key: key, variant: variant, metadata: Data(count: metadata), body: EntryBody(storage: .data(Data())),
            storedAt: Date(milliseconds: 0), freshUntil: nil, isRevalidatable: true, generation: generation)
    }

    /// Its body is in a file, of which nothing but the name is looked at.
    static func fileEntry(_ generation: Int64, _ key: EntryKey = key) -> StoreEntry {
        let file = BodyFile(stored: "/nowhere", layout: FrameLayout(length: 1 << 20), checksum: 0)
        return StoreEntry(
            key: key, variant: "", metadata: Data(), body: EntryBody(storage: .file(file)), storedAt: Date(milliseconds: 0),
            freshUntil: nil,
            isRevalidatable: true, generation: generation)
    }

    static func update(_ generation: Int64, _ metadata: [UInt8]) -> MetadataUpdate {
        MetadataUpdate(variant: "", generation: generation, metadata: Data(metadata), freshUntil: nil, isRevalidatable: true)
    }

    /// The generations memory answers with; nil when the disk is to be asked.
    static func answer(_ state: inout MemoryState, _ key: EntryKey = key, at now: MemoryState.Moment = start) -> [Int64]? {
        guard case .entries(let entries) = state.lookup(key, at: now).answer else { return nil }
        return entries.map(\.generation)
    }

    /// As if the disk had been read just now.
    static func load(_ state: inout MemoryState, _ rows: [StoreEntry], _ key: EntryKey = key, lastUsed: Int64 = start.wall) {
        let version = state.beginLoad(key)
        _ = state.endLoad(key, version: version, rows: rows, lastUsed: lastUsed, at: start, isFinal: false)
    }

    // MARK: Lookups

    @Test func onlyTheDiskKnowsWhatMemoryNeverSaw() {
        var state = Self.state()
        let before = Self.answer(&state)
        Self.load(&state, [Self.entry(1)])
        let after = Self.answer(&state)
        #expect(before == nil && after == [1])
        #expect(state.statistics.memoryHits == 1 && state.statistics.diskHits == 1 && state.statistics.misses == 0)
    }

    @Test func withoutADiskMemoryIsAllThereIs() {
        var state = Self.state(hasDisk: false)
        let before = Self.answer(&state)
        _ = state.put(Self.entry(1), ticket: nil, at: Self.start)
        let after = Self.answer(&state)
        #expect(before == [] && after == [1])
        #expect(state.statistics.misses == 1 && state.statistics.memoryHits == 1)
    }

    @Test func thatThereIsNothingIsRememberedToo() {
        var state = Self.state()
        Self.load(&state, [])
        let found = Self.answer(&state)
        #expect(found == [] && state.statistics.misses == 2 && state.statistics.diskHits == 0)
    }

    // MARK: Uses

    @Test(arguments: [(59_999, false), (60_000, true), (-59_999, false), (-60_000, true)] as [(Int64, Bool)])
    func aUseIsNotedOnceAMinuteAlsoWhenTheClockWasSetBack(milliseconds: Int64, isNoted: Bool) {
        var state = Self.state()
        Self.load(&state, [Self.entry(1)])
        let now = Self.moment(after: milliseconds)
        let wake = state.lookup(Self.key, at: now).wake
        #expect(state.touches == (isNoted ? [Self.key: now.wall] : [:]))
        #expect(wake == (isNoted ? .by(now.monotonic + state.limits.touchAge) : .none))
        let again = state.lookup(Self.key, at: now).wake
        #expect(again == .none)
    }

    @Test func whatIsNotThereIsNeverUsed() {
        var state = Self.state()
        Self.load(&state, [])
        let wake = state.lookup(Self.key, at: Self.moment(after: 120_000)).wake
        #expect(wake == .none && state.touches.isEmpty)
    }

    @Test func usesAreWrittenTogetherOrWhenThereAreMany() {
        var state = Self.state { $0.touchBatch = 3 }
        let wakes = (1...4).map { state.touch(EntryKey("\($0)"), at: Self.moment(after: Int64($0))) }
        #expect(wakes == [.by(Self.start.monotonic + .milliseconds(1) + state.limits.touchAge), .none, .now, .now])
        let taken = state.takeTouches()
        #expect(taken.count == 4 && state.touches.isEmpty && state.touchesSince == nil)
        let next = state.touch(Self.key, at: Self.start)
        #expect(next == .by(Self.start.monotonic + state.limits.touchAge))
    }

    @Test func withoutADiskNoUseIsNoted() {
        var state = Self.state(hasDisk: false)
        let wake = state.touch(Self.key, at: Self.start)
        #expect(wake == .none && state.touches.isEmpty)
    }

    @Test(arguments: [(0, true), (1, false)] as [(Int64, Bool)])
    func aUseFoundOnDiskIsNotedWhenTheLastOneIsAMinuteOld(later: Int64, isNoted: Bool) {
        var state = Self.state()
        let version = state.beginLoad(Self.key)
        let lastUsed = Self.start.wall - MemoryState.noteInterval + later
        let end = state.endLoad(Self.key, version: version, rows: [Self.entry(1)], lastUsed: lastUsed, at: Self.start, isFinal: false)
        #expect((end.wake != .none) == isNoted && (state.touches[Self.key] != nil) == isNoted)
        #expect(state.slots.peek(Self.key)?.notedUse == (isNoted ? Self.start.wall : lastUsed))
    }

    // MARK: Reading while others write

    @Test func aReadThatAChangeOvertookSaysNothing() {
        var state = Self.state()
        let version = state.beginLoad(Self.key)
        _ = state.put(Self.entry(2), ticket: nil, at: Self.start)
        let end = state.endLoad(Self.key, version: version, rows: [Self.entry(1)], lastUsed: 0, at: Self.start, isFinal: false)
        #expect(end.entries == nil && end.wake == .none && state.loads.isEmpty)
        #expect(state.statistics.diskHits == 0 && state.statistics.misses == 0)
    }

    @Test func theLastTryAnswersAllTheSameButIsNotKept() {
        var state = Self.state()
        let version = state.beginLoad(Self.key)
        state.markStale(Self.key)
        let end = state.endLoad(Self.key, version: version, rows: [Self.entry(1)], lastUsed: 0, at: Self.start, isFinal: true)
        let generations = end.entries?.map(\.generation)
        let known = Self.answer(&state)
        #expect(generations == [1] && end.wake == .none && known == nil && state.statistics.diskHits == 1)
    }

    @Test func readersOfOneKeyAreToldApartFromLaterOnes() {
        var state = Self.state()
        let first = state.beginLoad(Self.key)
        let second = state.beginLoad(Self.key)
        #expect(first == second && state.loads[Self.key]?.readers == 2)
        state.abandonLoad(Self.key)
        #expect(state.loads[Self.key]?.readers == 1)
        state.markStale(Self.key)
        let third = state.beginLoad(Self.key)
        #expect(third != first)
        state.abandonLoad(Self.key)
        state.abandonLoad(Self.key)
        #expect(state.loads.isEmpty)
        let fourth = state.beginLoad(Self.key)
        #expect(fourth != third)
    }

    @Test func whatIsWrittenLiesOverTheDiskAndWhatWaitsOverThat() {
        var state = Self.state { $0.batchKeys = 1 }
        let (other, third) = (EntryKey("other", partition: "p"), EntryKey("third", partition: "q"))
        _ = state.put(Self.entry(2), ticket: nil, at: Self.start)
        _ = state.takeBatch()
        let inFlight = state.overlay([Self.entry(1)], Self.key).map(\.generation)
        _ = state.put(Self.entry(3), ticket: nil, at: Self.start)
        let waiting = state.overlay([Self.entry(1)], Self.key).map(\.generation)
        #expect(inFlight == [2] && waiting == [3])
        _ = state.clear(partition: "p", at: Self.start)
        let cleared = [Self.key, other].flatMap { state.overlay([Self.entry(1, $0)], $0) }
        let untouched = state.overlay([Self.entry(1, third)], third).map(\.generation)
        #expect(cleared.isEmpty && untouched == [1])
        _ = state.takeBatch()
        let clearing = state.overlay([Self.entry(1)], Self.key)
        #expect(clearing.isEmpty)
        _ = state.commit(refused: [])
        let committed = state.overlay([Self.entry(1)], Self.key).map(\.generation)
        #expect(committed == [1])
    }

    // MARK: Room

    @Test func aSlotOfMoreThanASixteenthStaysOutAndTakesItsElderAlong() {
        let cost = 128 + Self.key.byteCount + Self.entry(1).memoryCost
        var state = Self.state { $0.memoryBytes = 16 * cost }
        let kept = state.put(Self.entry(1), ticket: nil, at: Self.start)
        #expect(kept.released.isEmpty && state.slots.cost == cost)
        let refused = state.put(Self.entry(2, metadata: 1), ticket: nil, at: Self.start)
        #expect(refused.outcome == .accepted && state.slots.count == 0)
        let released = refused.released.flatMap(\.entries).map(\.generation)
        #expect(released == [1])
        let unknown = Self.answer(&state)
        let overlaid = state.overlay([], Self.key).map(\.generation)
        #expect(unknown == nil && overlaid == [2])
    }

    @Test func whatIsReplacedAndWhatHasToGoIsHandedOut() {
        let cost = 128 + Self.key.byteCount + Self.entry(1).memoryCost
        var state = Self.state { $0.memoryBytes = 16 * cost }
        // As long as `key`, so that sixteen of them fit.
        let keys = (0...16).map { EntryKey("\(UnicodeScalar(UInt8(97 + $0)))", partition: "p") }
        for (index, key) in keys[..<16].enumerated() { _ = state.put(Self.entry(Int64(index), key), ticket: nil, at: Self.start) }
        let former = state.put(Self.entry(16, keys[0]), ticket: nil, at: Self.start).released.flatMap(\.entries).map(\.generation)
        let gone = state.put(Self.entry(17, keys[16]), ticket: nil, at: Self.start).released.flatMap(\.entries).map(\.generation)
        #expect(former == [0] && gone == [1] && state.slots.count == 16)
        #expect(state.slots.cost <= state.limits.memoryBytes)
    }
}

extension StoreLimits {
    /// Of an entry without metadata, as `MemoryStateTests` makes them.
    static func queued(_ entry: StoreEntry) -> Int { 64 + entry.memoryCost }
}
