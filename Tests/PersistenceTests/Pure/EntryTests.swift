import CleanSlate
import FoundationEssentials
import Testing

@testable import Persistence

@Suite(.leavesNothing) struct EntryTests {
    @Test func datesAreKeptToTheMillisecondAndWithinBounds() {
        let bound: Int64 = 253_402_300_800_000
        #expect(Date(timeIntervalSince1970: 1.2345).milliseconds == 1_235 && Date(milliseconds: -1_500).timeIntervalSince1970 == -1.5)
        #expect(
            Date(timeIntervalSince1970: .infinity).milliseconds == bound && Date(timeIntervalSince1970: -.infinity).milliseconds == -bound)
        #expect(Date(timeIntervalSince1970: 1e300).milliseconds == bound && Date(timeIntervalSince1970: -1e300).milliseconds == -bound)
        #expect(Date(timeIntervalSince1970: .nan).milliseconds == -bound)
    }

    @Test func anEntryCostsItsBytesAndAShareOfTheTables() {
        let entry = StoreEntry(
            key: EntryKey("name", partition: "part"), variant: "var", metadata: Data(count: 10),
            body: EntryBody(storage: .data(Data(count: 100))),
            storedAt: Date(), freshUntil: nil, isRevalidatable: true, generation: 1)
        #expect(entry.memoryCost == 8 + 3 + 10 + 100 + 256 && entry.key.byteCount == 8)
    }

    @Test func newMetadataLeavesTheRest() {
        let entry = StoreEntry(
            key: EntryKey("name"), variant: "v", metadata: Data([1]), body: EntryBody(storage: .data(Data([2]))),
            storedAt: Date(milliseconds: 3),
            freshUntil: nil, isRevalidatable: true, generation: 4)
        let update = MetadataUpdate(
            variant: "v", generation: 4, metadata: Data([9]), freshUntil: Date(milliseconds: 8), isRevalidatable: false)
        let changed = entry.replacing(update)
        #expect(changed.metadata == Data([9]) && changed.freshUntil == Date(milliseconds: 8) && !changed.isRevalidatable)
        #expect(
            changed.body.data == Data([2]) && changed.storedAt == Date(milliseconds: 3) && changed.generation == 4 && changed.variant == "v"
        )
    }

    @Test func keysAreEqualByTheBytesOfBothParts() {
        #expect(EntryKey("a", partition: "p") == EntryKey("a", partition: "p"))
        for other in [EntryKey("b", partition: "p"), EntryKey("a", partition: "q"), EntryKey("p", partition: "a"), EntryKey("a")] {
            #expect(other != EntryKey("a", partition: "p"))
        }
        #expect(EntryKey("\u{e9}") != EntryKey("e\u{301}") && ExactString("\u{e9}") != ExactString("e\u{301}"))
        let keys: Set<EntryKey> = [
            EntryKey("a", partition: "p"), EntryKey("a", partition: "p"), EntryKey("ap"), EntryKey("", partition: "ap"),
        ]
        #expect(keys.count == 3 && keys.contains(EntryKey("ap")) && Set([ExactString("a"), ExactString("a")]).count == 1)
        // Names that share a bucket make every lookup a search.
        let hashes = [EntryKey("a"), EntryKey("b"), EntryKey("a", partition: "p"), EntryKey("ap"), EntryKey("", partition: "ap")].map(
            \.hashValue)
        #expect(Set(hashes).count == hashes.count && ExactString("a").hashValue != ExactString("b").hashValue)
        #expect(EntryKey("a").description == "a" && EntryKey("a", partition: "p").description == "p/a")
    }
}

@Suite(.leavesNothing) struct MemoryPressurePlanTests {
    private let roots = MemoryPressurePlan.Roots(membership: "", controlGroups: ["/g", "/h"], machine: "/m")

    private func plans(_ environment: [String: String] = [:], _ groups: String = "") -> [MemoryPressurePlan] {
        MemoryPressurePlan.plans(environment: environment, controlGroups: groups, roots: roots)
    }

    @Test func theServiceManagersWordComesFirst() {
        let told = plans(["MEMORY_PRESSURE_WATCH": "/w", "MEMORY_PRESSURE_WRITE": "c29tZQA="], "0::/user\n")
        #expect(told == [MemoryPressurePlan(source: .serviceManager(path: "/w"), path: "/w", write: Data("some\0".utf8))])
        let mute = plans(["MEMORY_PRESSURE_WATCH": "/w"])
        let garbled = plans(["MEMORY_PRESSURE_WATCH": "/w", "MEMORY_PRESSURE_WRITE": "?"])
        #expect(mute.map(\.write) == [Data()] && garbled.map(\.write) == [Data()])
    }

    @Test func itMayTurnListeningOff() {
        #expect(plans(["MEMORY_PRESSURE_WATCH": "/dev/null"]).isEmpty && plans(["MEMORY_PRESSURE_WATCH": "relative"]).isEmpty)
        #expect(plans(["MEMORY_PRESSURE_WATCH": ""]).map(\.path) == ["/m"])
    }

    @Test func theOwnGroupComesBeforeTheMachine() {
        let found = plans([:], "9:name=systemd:/a\n0::/user/b\n")
        #expect(found.map(\.path) == ["/g/user/b/memory.pressure", "/h/user/b/memory.pressure", "/m"])
        #expect(found.map(\.source) == [.controlGroup(path: found[0].path), .controlGroup(path: found[1].path), .machine])
        #expect(found.allSatisfy { $0.write == Data("some 150000 2000000\0".utf8) })
    }

    @Test(arguments: ["0::/\n", "", "1::/a\n", "9:name=systemd:/a\n"])
    func withoutAGroupOfItsOwnTheMachineIsWatched(groups: String) { #expect(plans([:], groups).map(\.source) == [.machine]) }
}
