import CleanSlate
import Foundation
import ScopedNetTesting
import Testing

@testable @_spi(Transport) import ScopedNet

/// The body of one upload, as libcurl asks for it.
@Suite(.leavesNothing) struct UploadFeedTests {
    private struct Broken: Error {}

    private func read(_ feed: UploadFeed, _ count: Int) -> UploadFeed.Read {
        withUnsafeTemporaryAllocation(byteCount: count, alignment: 1) { feed.read(into: $0) }
    }

    @Test func aSmallBodyIsSentInOnePieceWithItsHead() throws {
        let feed = try UploadFeed(.data(Data("text".utf8)))
        defer { feed.end() }
        #expect(feed.contiguousBytes != nil && feed.isDone && feed.length == 4)
    }

    @Test func progressIsToldWhereThereIsSome() throws {
        let feed = try UploadFeed(.data(Data(repeating: 1, count: 100)))
        defer { feed.end() }
        #expect(feed.progress(0) == nil && feed.progress(40) == 40 && feed.progress(40) == nil && feed.progress(100) == 100)
    }

    @Test func whatLibcurlMeasuresIsCorrected() throws {
        let feed = try UploadFeed(.data(Data(repeating: 1, count: 100)))
        defer { feed.end() }
        var clocks = TransferClocks()
        clocks.begin(now: 1_000_000, moment: .now)
        var metrics = TransferMetrics(started: .now)
        feed.complete(&metrics, sent: 100, clocks)
        #expect(metrics.times.firstByte == 0 && metrics.bodyBytesSent == 100)
        clocks.headCompleted = 3_500_000
        feed.complete(&metrics, sent: 100, clocks)
        #expect(metrics.times.firstByte == 2_500)
    }

    @Test func aBodyIsReadAgainFromItsBeginning() throws {
        let feed = try UploadFeed(.data(Data(repeating: 1, count: 100 << 10)))
        defer { feed.end() }
        guard case .bytes(1_000) = read(feed, 1_000) else {
            Issue.record("no bytes")
            return
        }
        #expect(feed.hasBegun && !feed.isDone && feed.rewind(to: 0) && !feed.hasBegun)
    }

    @Test func theCauseOfAFailureIsTold() throws {
        let feed = try UploadFeed(.data(Data(repeating: 1, count: 100)))
        defer { feed.end() }
        let broken = feed.failure(Broken())
        #expect(broken.code == .bodyStreamFailed && broken.message == "the body sequence threw an error" && broken.underlying is Broken)
        let late = feed.failure(feed.noEnd)
        #expect(late.message == "the body sequence has given the 100 bytes declared, and does not end")
    }
}
