import CleanSlate
import FoundationEssentials
import Testing

@testable import Persistence

@Suite(.leavesNothing) struct KeyFilterTests {
    private func key(_ index: Int) -> EntryKey { EntryKey("https://example.test/\(index)", partition: "p\(index % 3)") }

    @Test func whatWasPutIsNeverTakenForAbsent() {
        var filter = KeyFilter(seed: 7)
        for index in 0..<5_000 { filter.insert(key(index)) }
        let missing = (0..<5_000).filter { !filter.mayContain(key($0)) }
        #expect(missing.isEmpty)
    }

    @Test func whatWasNotIsNearlyAlwaysKnownToBeAbsent() {
        var filter = KeyFilter(seed: 7)
        for index in 0..<100_000 { filter.insert(hash: key(index).hash(seed: 7)) }
        let wrong = (100_000..<110_000).count { filter.mayContain(key($0)) }
        // (1 - e^(-4 * 100,000 / 2^20))^4 is 1 %.
        #expect(wrong < 250, "\(wrong) of 10,000")
        let empty = KeyFilter(seed: 7)
        #expect(!empty.mayContain(key(0)))
    }

    @Test func anotherSeedIsAnotherFilter() {
        #expect(key(1).hash(seed: 1) != key(1).hash(seed: 2))
        #expect(EntryKey("b", partition: "a").hash(seed: 1) != EntryKey("ab").hash(seed: 1))
    }
}
