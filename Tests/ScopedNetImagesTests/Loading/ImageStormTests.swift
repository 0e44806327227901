import CleanSlate
import FoundationEssentials
import Glibc
import ScopedNet
import ScopedNetTesting
import Synchronization
import Testing

@testable import ScopedNetImages

/// Thousands of loads at once, begun, cancelled and made more urgent in any order: a few transfers at a time, every closure once, and an empty queue. IMD-3, IMD-4.
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct ImageStormTests {
    @Test func tenThousandSubscribersMakeAHundredRequests() async throws {
        let test = ImageLoading()
        let (bag, count) = (DeallocBag(), Counter())
        let requests = (0..<100).map { ImageRequest("\($0).bmp") }
        for index in 0..<10_000 { test.images.load(requests[index % 100]).onSuccess { _ in count.add() }.start(in: bag) }
        while test.images.waiterCount < 10_000 || test.images.activity.waitingTransfers < 96 { try await Task.sleep(for: .milliseconds(1)) }
        for index in 0..<100 {
            await test.mock.waitForExchanges(index + 1)
            test.mock.exchanges[index].respond(ImageLoading.reply(ImageLoading.bitmap()))
        }
        await bag.waitUntilIdle()
        #expect(count.value == 10_000 && test.mock.exchanges.count == 100)
        await test.end()
    }

    /// AFNetworking 3150, 3324, 3469, AlamofireImage 121: queues that stalled, or let more through than they may.
    ///
    /// Twenty thousand steps, and a million with `SCOPEDNET_SOAK=1`. Each seed is that of a loader of its own.
    @Test(.serialized, arguments: 0..<seeds) func anyOrderOfStepsEndsWell(seed: Int) async {
        let folder = TemporaryFolder()
        var storm = ImageStorm(seed: seed, cache: seed % 5 == 4 ? folder.cache() : nil)
        await storm.run(Self.isSoak ? 5_000 : 1_000)
        await storm.finish()
    }

    private static let isSoak = isSet("SCOPEDNET_SOAK")
    private static let seeds = isSoak ? 200 : isSet("SCOPEDNET_QUICK") ? 4 : 20

    private static func isSet(_ variable: String) -> Bool { getenv(variable).map { String(cString: $0) } == "1" }
}

private final class Counter: Sendable {
    private let count = Atomic<Int>(0)
    var value: Int { count.load(ordering: .relaxed) }
    func add() { count.add(1, ordering: .relaxed) }
}
