import CleanSlate
import FoundationEssentials
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

    @Test(arguments: 0..<4) func anyOrderOfStepsEndsWell(seed: Int) async throws {
        let test = ImageLoading { $0.order = seed % 2 == 0 ? .firstInFirstOut : .lastInFirstOut }
        var random = SplitMix(state: UInt64(seed) + 77)
        var receipts: [ImageReceipt] = []
        let ends = Counter()
        var (started, answered) = (0, 0)
        for _ in 0..<3_000 {
            switch random.next() % 8 {
            case 0...3:
                let request = ImageRequest("\(random.next() % 30)", priority: Priority.allCases[Int(random.next() % 3)])
                started += 1
                receipts.append(test.images.load(request).onEnd { _ in ends.add() }.start())
            case 4: if !receipts.isEmpty { receipts.remove(at: Int(random.next() % UInt64(receipts.count))).cancel() }
            case 5: receipts.randomElement(using: &random)?.setPriority(Priority.allCases[Int(random.next() % 3)])
            default: answered += answer(test, after: answered, fails: random.next() % 5 == 0)
            }
            let open = test.mock.exchanges.count { !$0.isEnded }
            guard open <= 4 else {
                Issue.record("\(open) transfers")
                return
            }
            if random.next() % 16 == 0 { await Task.yield() }
        }
        while receipts.contains(where: \.isRunning) {
            answered += answer(test, after: answered, fails: false)
            try await Task.sleep(for: .milliseconds(1))
        }
        receipts = []
        await test.session.agent.waitUntilIdle()
        while test.images.activity != ImageLoader.Activity(transfers: 0, waitingTransfers: 0, decodings: 0, waitingDecodings: 0) {
            await Task.yield()
        }
        #expect(ends.value == started)
        await test.end()
    }

    /// Answers those that were not answered.
    private func answer(_ test: ImageLoading, after count: Int, fails: Bool) -> Int {
        let fresh = test.mock.exchanges.dropFirst(count)
        for exchange in fresh { if fails { exchange.fail() } else { exchange.respond(ImageLoading.reply(ImageLoading.bitmap())) } }
        return fresh.count
    }
}

private final class Counter: Sendable {
    private let count = Atomic<Int>(0)
    var value: Int { count.load(ordering: .relaxed) }
    func add() { count.add(1, ordering: .relaxed) }
}
