import CleanSlate
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct TransferPaceTests {
    @Test func withoutLimitsThereIsNone() { #expect(TransferPace(upload: nil, download: nil) == nil) }

    @Test(arguments: [(1, 1_024), (4_096, 1_024), (8_192, 2_048), (1 << 20, 16_384), (Int.max, 16_384)])
    func buffersAreAQuarterOfASecond(_ rate: Int, _ bytes: Int) throws {
        let pace = try #require(TransferPace(upload: nil, download: rate))
        #expect(pace.bufferBytes(16_384) == bytes && pace.uploadPiece == .max)
    }

    @Test(arguments: [(1, 1), (3, 1), (400, 100), (Int.max, Int.max / 4)]) func soArePieces(_ rate: Int, _ bytes: Int) throws {
        let pace = try #require(TransferPace(upload: rate, download: nil))
        #expect(pace.uploadPiece == bytes && pace.bufferBytes(77) == 77)
    }
}

@Suite(.leavesNothing) struct SpeedLimitTests {
    private let second: UInt64 = 1_000_000_000

    @Test func theFirstPieceNeverWaits() {
        let limit = SpeedLimit(rate: 1)
        #expect(limit.wait(now: 0) == nil && limit.wait(now: 7) == nil)
    }

    @Test func whatHasMovedIsPaidForAtTheRate() {
        var limit = SpeedLimit(rate: 1_000)
        let start = 100 * second
        limit.took(2_000, now: start)
        // A quarter of a second is there at the start.
        let end = start + 2 * second - SpeedLimit.credit
        #expect(limit.wait(now: start) == end && limit.wait(now: end - 1) == end && limit.wait(now: end) == nil)
        limit.took(500, now: end)
        #expect(limit.wait(now: end) == end + second / 2)
    }

    /// Whoever comes late may catch up a little, and not more: an hour of silence is no leave to be fast for an hour.
    @Test func latenessIsMadeUpForOnlySoFar() {
        var limit = SpeedLimit(rate: 1_000)
        limit.took(1_000, now: second)
        let late = 3_600 * second
        limit.took(1_000, now: late)
        #expect(limit.wait(now: late) == late + second - SpeedLimit.credit)
    }

    /// Over any time, no more than the rate, the credit and one piece.
    @Test(arguments: [1, 999, 20_000, 1 << 30]) func theAverageIsKept(_ rate: Int) {
        var limit = SpeedLimit(rate: rate)
        var (now, moved) = (second, 0)
        let piece = max(1, rate / 4)
        for step in 0..<200 {
            if let time = limit.wait(now: now) { now = time + UInt64(step % 7) * 1_000_000 }
            limit.took(piece, now: now)
            moved += piece
        }
        let seconds = Double(now - second) / 1e9
        #expect(Double(moved) <= Double(rate) * (seconds + 0.26) + Double(piece) && seconds > 40)
    }

    @Test(arguments: [(Int.min, 5), (0, 5), (1, Int.max), (Int.max, Int.max), (5, -5), (5, 0)]) func anyNumberCanBeReckonedWith(
        _ rate: Int, _ count: Int
    ) {
        var limit = SpeedLimit(rate: rate)
        for _ in 0..<3 { limit.took(count, now: 5 * second) }
        #expect(limit.rate >= 1 && (limit.wait(now: 0) ?? 0) < .max)
    }
}
