import CleanSlate
import FoundationEssentials
import HTTPTypes
import ScopedNet
import ScopedNetTesting
import Testing

@testable import ScopedNetImages

/// The complaints about queues, cancels and priorities of other image libraries, by the numbers of their issues; each holds otherwise here. IMD-3, IMD-4.
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct ImageQueueIssueTests {
    private let folder = TemporaryFolder()

    /// Answers each exchange that is open, as often as it takes.
    private func answer(_ test: ImageLoading, until isDone: () -> Bool) async {
        await eventually(within: .seconds(60)) {
            for exchange in test.mock.exchanges where !exchange.isEnded && !exchange.isCancelled {
                exchange.respond(ImageLoading.reply(ImageLoading.bitmap()))
            }
            return isDone()
        }
    }

    // MARK: Stalls

    /// AFNetworking 3150: after as many failures as there are transfers at a time nothing was begun any more. Each failure gives its permit back.
    @Test func failuresDoNotStallTheQueue() async throws {
        let test = ImageLoading(unanswered: .fail) { $0.transfersAtOnce = 2 }
        let replies: [MockReply] = [
            .failing(.connectionLost), .failing(.firstByteTimeout), .status(404), .status(500), .ok("no picture"), .ok(),
            ImageLoading.reply(ImageSamples.bmp(30_000, 30_000)), ImageLoading.reply(ImageLoading.bitmap().prefix(70)),
            ImageLoading.reply(ImageLoading.bitmap().prefix(40)).thenFailing(),
        ]
        let (bag, log) = (DeallocBag(), ImageLog())
        for (index, reply) in replies.enumerated() {
            test.mock.on("\(index)", reply)
            test.images.load(ImageRequest("\(index)")).onFailure { _ in log.add("\(index)") }.start(in: bag)
        }
        await bag.waitUntilIdle()
        #expect(log.all.count == replies.count)
        test.mock.on("good", ImageLoading.reply(ImageLoading.bitmap()))
        #expect(try await test.images.image("good").width == 4)
        #expect(test.images.activity.transfers == 0)
        await test.end()
    }

    /// AFNetworking 3324, 3325, AlamofireImage 121: of more downloads than may run at a time that were begun, cancelled and begun again at once, some
    /// failed as cancelled or stood still. All of them come.
    @Test(arguments: [true, false]) func manyThatAreCancelledAndBegunAgainCome(isUnderWay: Bool) async {
        let test = ImageLoading()
        let (bag, log) = (DeallocBag(), ImageLog())
        let receipts = (0..<12).map { test.images.load(ImageRequest("\($0)")).onFailure { log.add("first: \($0)") }.start() }
        if isUnderWay { await test.mock.waitForExchanges(4) }
        for receipt in receipts { receipt.cancel() }
        for index in 0..<12 {
            test.images.load(ImageRequest("\(index)")).onSuccess { _ in log.add("picture") }.onFailure { log.add("second: \($0)") }.start(
                in: bag)
        }
        await answer(test) { log.all.count >= 12 }
        await bag.waitUntilIdle()
        #expect(log.all == Array(repeating: "picture", count: 12))
        await test.end()
    }

    /// AlamofireImage 232: behind a fast scroll on a slow network the last rows waited for downloads that had been cancelled, and heard of their progress.
    @Test func rowsThatScrolledAwayAreNotInTheWay() async {
        let test = ImageLoading()
        let (log, data) = (ImageLog(), ImageLoading.bitmap(40, 40))
        var receipts = (0..<100).map { row in
            test.images.load(ImageRequest("\(row)")).onProgress { _ in log.add("\(row)") }.onSuccess { _ in log.add("\(row) done") }.start()
        }
        await test.mock.waitForExchanges(4)
        for exchange in test.mock.exchanges {
            exchange.receiveHead(headers: [.contentLength: "\(data.count)"])
            exchange.receive(data.prefix(1_000))
        }
        await eventually(within: .seconds(60)) { Set(log.all).count == 4 }
        receipts.removeFirst(96)
        // The permits of those that are gone are theirs at once, whatever began in between.
        let last = Set((96..<100).map { "/\($0)" })
        await eventually(within: .seconds(60)) { open(test) == last }
        #expect(test.mock.exchanges.count { !$0.isCancelled } == 4)
        for exchange in test.mock.exchanges where !exchange.isCancelled { exchange.respond(ImageLoading.reply(data)) }
        for receipt in receipts { _ = await receipt.operation.outcome() }
        #expect(log.all.count { $0.hasSuffix("done") } == 4)
        #expect(Set(log.all.filter { !$0.hasSuffix("done") }).subtracting((96..<100).map { "\($0)" }).count == 4)
        await test.end()
    }

    private func open(_ test: ImageLoading) -> Set<String> {
        Set(test.mock.exchanges.filter { !$0.isEnded && !$0.isCancelled }.map(\.path))
    }

    // MARK: Cancels

    /// AFNetworking 3338, 4407: a cancelled download went on, was decoded and was kept. The transfer ends, and no picture is made of it, nor stored.
    @Test func aCancelEndsTheTransferAndMakesNoPicture() async throws {
        let decoder = CountingDecoder()
        let test = ImageLoading(cache: folder.cache()) { $0.decoders.append(decoder) }
        let (log, data) = (ImageLog(), ImageLoading.bitmap(40, 40))
        let receipts = (0..<4).map { index in
            test.images.load(ImageRequest("\(index)")).onProgress { _ in log.add("\(index)") }.onSuccess { _ in log.add("success") }.start()
        }
        await test.mock.waitForExchanges(4)
        for exchange in test.mock.exchanges {
            exchange.receiveHead(headers: [.contentLength: "\(data.count)", .cacheControl: "max-age=60"])
            exchange.receive(data.prefix(1_000))
        }
        await eventually(within: .seconds(60)) { Set(log.all).count == 4 }
        for receipt in receipts { receipt.cancel() }
        await eventually(within: .seconds(60)) { test.mock.exchanges.allSatisfy(\.isCancelled) }
        await test.session.agent.waitUntilIdle()
        #expect(decoder.decodings == 0 && test.images.memory.count == 0 && !log.all.contains("success"))
        for index in 0..<4 {
            var stored = ImageRequest("\(index)")
            stored.cache = .only
            await #expect(throws: ImageLoadError.self) { try await test.images.image(stored) }
        }
        #expect(test.mock.exchanges.count == 4)
        await test.end()
    }

    // MARK: Priorities and sharing

    /// Coil 916: of several who want one file nobody could say which is urgent. It is as urgent as the most urgent of those who still wait, in the same size
    /// or in another one.
    @Test(arguments: [true, false], [true, false]) func aFileIsAsUrgentAsTheMostUrgentWhoWaits(leaves: Bool, isAnotherSize: Bool) async {
        let test = ImageLoading { $0.transfersAtOnce = 1 }
        let first = test.images.load("0").start()
        await test.mock.waitForExchanges(1)
        let normal = test.images.load("1").start()
        let low = test.images.load(ImageRequest("2", priority: .low)).start()
        await eventually(within: .seconds(60)) { test.images.activity.waitingTransfers == 2 }
        let high = test.images.load(ImageRequest("2", size: isAnotherSize ? PixelSize(2, 2) : nil, priority: .high)).start()
        await waitForFiles(test, isAnotherSize ? 4 : 3)
        if leaves {
            high.cancel()
            await waitForFiles(test, 3)
        }
        for index in 0..<3 {
            await test.mock.waitForExchanges(index + 1)
            test.mock.exchanges[index].respond(ImageLoading.reply(ImageLoading.bitmap()))
        }
        for receipt in [first, normal, low] { _ = await receipt.operation.outcome() }
        #expect(test.mock.exchanges.map(\.path) == (leaves ? ["/0", "/1", "/2"] : ["/0", "/2", "/1"]))
        await test.end()
    }

    /// The priority is settled in the step behind the one that is seen here.
    private func waitForFiles(_ test: ImageLoading, _ count: Int) async {
        await eventually(within: .seconds(60)) { test.images.fileWaiters == count }
        for _ in 0..<100 { await Task.yield() }
    }

    private final class Warnings: RequestObserver {
        let log = ImageLog()
        func observe(_ event: RequestEvent) {}
        func observe(_ warning: SessionWarning) { log.add(warning.description) }
    }

    /// Nuke 825: nobody noticed. The second loader of a session is told of, once, and not one that comes after the first has gone.
    @Test func aSecondLoaderIsToldOf() async {
        let warnings = Warnings()
        let session = MockTransport.session("http://images.test/") { $0.observers = [warnings] }
        for _ in 0..<2 { _ = ImageLoader(session) }
        #expect(warnings.log.all.isEmpty)
        let loaders = (0..<3).map { _ in ImageLoader(session) }
        #expect(warnings.log.all.count == 1 && warnings.log.all.first?.contains("second ImageLoader") == true)
        withExtendedLifetime(loaders) {}
        await session.shutdown()
    }

    /// Nuke 825: a pipeline for each view lost the merging of requests. Loaders of one session share its response cache, which merges them.
    @Test func loadersOfOneSessionShareATransfer() async throws {
        let test = ImageLoading(cache: folder.cache())
        let others = (0..<4).map { _ in ImageLoader(test.session) }
        async let widths = withThrowingTaskGroup(of: Int.self) { group in
            for images in [test.images] + others { group.addTask { try await images.image("a.bmp").width } }
            return try await group.reduce(into: [Int]()) { $0.append($1) }
        }
        await test.mock.waitForExchanges(1)
        await eventually(within: .seconds(60)) { others.allSatisfy { $0.activity.transfers == 1 } }
        test.mock.exchanges[0].respond(ImageLoading.reply(ImageLoading.bitmap()))
        let all = try await widths
        #expect(all == [4, 4, 4, 4, 4] && test.mock.exchanges.count == 1)
        await test.end()
    }
}
