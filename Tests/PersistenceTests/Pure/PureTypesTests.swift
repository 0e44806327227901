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

    /// Of libxxhash 0.8.1: every way through stripes, words and bytes.
    @Test(
        arguments: [
            (8, 0, 0xDAB9_9D95_C6F9_0092),
            (12, 1, 0x3785_1F0D_89D2_3966),
            (15, 2, 0x1168_48D3_D091_1219),
            (31, 3, 0xA733_809B_8B79_7DE8),
            (32, 0, 0x23C3_C17E_F790_FD97),
            (33, 9, 0x3D2B_8606_A6E2_1B67),
            (64, 0x1234_5678_9ABC_DEF0, 0xF5D7_DA99_A823_61FB),
            (71, 0, 0xFDB8_DFC5_7001_41A7),
            (100, .max, 0x7D5C_A39D_FCFB_EACA),
        ] as [(Int, UInt64, UInt64)])
    func sumsOfEveryLength(count: Int, seed: UInt64, sum: UInt64) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7 + 3) }
        let found = bytes.withUnsafeBytes { XXHash64.hash($0, seed: seed) }
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

    @Test func whatIsAddedIsHashedWithWhatWasBefore() {
        var sum = Checksum(seed: 7)
        #expect(sum.value == 7)
        sum.add("abc")
        let text = "abc".withBytes { XXHash64.hash($0, seed: 7) }
        #expect(sum.value == text && sum.stored == Int64(bitPattern: text))
        sum.add(Data([1, 2]))
        let data = [UInt8(1), 2].withUnsafeBytes { XXHash64.hash($0, seed: text) }
        #expect(sum.value == data)
        sum.add(0x0102)
        let number = [UInt8(2), 1, 0, 0, 0, 0, 0, 0].withUnsafeBytes { XXHash64.hash($0, seed: data) }
        #expect(sum.value == number)
    }

    /// Two spellings of one letter are two keys, as they are on disk.
    @Test func stringsAreComparedByTheirBytes() {
        #expect("".hasSameBytes(as: "") && "a".hasSameBytes(as: "a") && !"a".hasSameBytes(as: "b") && !"a".hasSameBytes(as: "ab"))
        #expect("\u{e9}" == "e\u{301}" && !"\u{e9}".hasSameBytes(as: "e\u{301}"))
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
        #expect(layout.frames(of: 0..<65_536) == 0..<1)
        #expect(layout.frame(0) == 0..<65_536 && layout.frame(2) == 131_072..<196_608 && layout.frame(3) == 196_608..<200_000)
        #expect(layout.trailerSize == 32 && layout.fileSize == 200_032 && FrameLayout.frameSize == 65_536)
    }

    @Test func aFrameInTheWrongPlaceIsNotTheSame() {
        let bytes = [UInt8](repeating: 1, count: 10)
        let sums = (0..<2).map { index in bytes.withUnsafeBytes { FrameLayout.checksum($0, frame: index) } }
        let trailers = (0..<2).map { length in bytes.withUnsafeBytes { FrameLayout.checksum(ofTrailer: $0, length: length) } }
        #expect(sums[0] != sums[1] && trailers[0] != trailers[1])
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

    @Test func theSharesHoldForAnyCapacity() {
        let odd = EvictionPolicy(limit: 1_099, used: 0, free: nil)
        #expect(odd.bytesToFree(used: 1_044) == nil && odd.bytesToFree(used: 1_045) == 1_045 - 989)
        #expect(EvictionPolicy(limit: 99, used: 0, free: nil).bytesToFree(used: 95) == 95 - 89)
    }

    @Test func aCacheTakesAFifthOfWhatItCouldHave() {
        #expect(EvictionPolicy(limit: .max, used: 100, free: 404).capacity == 100)
        #expect(EvictionPolicy(limit: 99, used: 100, free: 404).capacity == 99)
        #expect(EvictionPolicy(limit: .max, used: 0, free: -5).capacity == 0)
        #expect(EvictionPolicy(limit: .max, used: .max, free: 1).capacity == .max / 5)
        #expect(EvictionPolicy.batch == 200)
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

    @Test func itForgetsTheOlderHalfAndNoMore() {
        var log = InvalidationLog(limit: 4)
        for index in 0..<4 { log.record(EntryKey("\(index)")) }
        #expect(log.isCurrent(EntryKey("other"), since: 0), "as many as it may hold")
        log.record(partition: "p")
        // Of the positions 1…5 the middle is 3: what was taken before is refused, what was taken then is told by what is left.
        #expect(log.position == 5 && !log.isCurrent(EntryKey("other"), since: 2) && log.isCurrent(EntryKey("other"), since: 3))
        #expect(!log.isCurrent(EntryKey("3"), since: 3) && log.isCurrent(EntryKey("3"), since: 4))
        #expect(!log.isCurrent(EntryKey("any", partition: "p"), since: 4) && log.isCurrent(EntryKey("any", partition: "p"), since: 5))
    }

    @Test func partitionsAreForgottenToo() {
        var log = InvalidationLog(limit: 2)
        for name in ["a", "b", "c"] { log.record(partition: name) }
        let inA = EntryKey("k", partition: "a")
        let inC = EntryKey("k", partition: "c")
        #expect(
            !log.isCurrent(inA, since: 1) && log.isCurrent(inA, since: 2) && !log.isCurrent(inC, since: 2) && log.isCurrent(inC, since: 3))
    }

    @Test func aClearIsTheNewestThereIs() {
        var log = InvalidationLog()
        log.record(EntryKey("a"))
        log.recordAll()
        #expect(log.position == 2 && !log.isCurrent(EntryKey("b"), since: 1) && log.isCurrent(EntryKey("a"), since: 2))
    }
}
