import CleanSlate
import FoundationEssentials
import HTTPTypes
import ScopedNet
import ScopedNetTesting
import Synchronization
import SystemSupport
import Testing

@testable import ScopedNetImages

/// A loader: one transfer for all who want a file, one decoding for all who want a picture, memory, limits and errors.
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct ImageLoaderTests {
    private let folder = TemporaryFolder()

    // MARK: Sharing

    /// IMD-2.
    @Test func allWhoWantAPictureShareOneLoad() async throws {
        let decoder = CountingDecoder()
        let test = ImageLoading { $0.decoders.append(decoder) }
        async let images = withThrowingTaskGroup(of: UInt8.self) { group in
            for _ in 0..<50 { group.addTask { ImageLoading.red(try await test.images.image("a.bmp")) } }
            return try await group.reduce(into: [UInt8]()) { $0.append($1) }
        }
        await test.mock.waitForExchanges(1)
        test.mock.exchanges[0].respond(ImageLoading.reply(ImageLoading.bitmap()))
        let colors = try await images
        #expect(colors == Array(repeating: 200, count: 50))
        #expect(test.mock.exchanges.count == 1 && decoder.decodings == 1)
        await test.end()
    }

    /// IMD-2.
    @Test func twoSizesOfAFileShareItsTransfer() async throws {
        let decoder = CountingDecoder()
        let test = ImageLoading { $0.decoders.append(decoder) }
        async let small = test.images.image(ImageRequest("a.bmp", size: PixelSize(8, 8)))
        async let large = test.images.image(ImageRequest("a.bmp", size: PixelSize(32, 32)))
        await test.mock.waitForExchanges(1)
        while test.images.fileWaiters < 2 { await Task.yield() }
        test.mock.exchanges[0].respond(ImageLoading.reply(ImageLoading.bitmap(64, 64)))
        let sizes = try await [small, large].map { PixelSize($0.width, $0.height) }
        #expect(sizes == [PixelSize(8, 8), PixelSize(32, 32)])
        #expect(test.mock.exchanges.count == 1 && decoder.decodings == 2)
        #expect(Set(decoder.wanted) == [PixelSize(8, 8), PixelSize(32, 32)])
        await test.end()
    }

    /// AFNetworking merged by the URL alone: two users got one response (its 3922 asks for less). IMD-2, defect 45.
    @Test func anotherIdentityIsAnotherTransfer() async throws {
        let test = ImageLoading()
        func request(_ name: String) -> ImageRequest {
            var request = ImageRequest("me.bmp")
            request.headers = ["Authorization": "Bearer \(name)"]
            return request
        }
        let (ann, bob) = (request("ann"), request("bob"))
        async let first = test.images.image(ann)
        async let second = test.images.image(bob)
        await test.mock.waitForExchanges(2)
        for exchange in test.mock.exchanges {
            exchange.respond(ImageLoading.reply(ImageLoading.bitmap(red: exchange.headers[.authorization] == "Bearer ann" ? 1 : 2)))
        }
        let colors = try await (ImageLoading.red(first), ImageLoading.red(second))
        #expect(colors == (1, 2))
        #expect(test.images.cached(ann).map(ImageLoading.red) == 1 && test.images.cached(bob).map(ImageLoading.red) == 2)
        #expect(test.images.cached("me.bmp") == nil)
        // Credentials of the session are told by the identity.
        test.images.identity = "cleo"
        #expect(test.images.cached(ann) == nil)
        test.images.identity = ""
        #expect(test.images.cached(ann) != nil)
        await test.end()
    }

    // MARK: Order and limits

    /// IMD-1.
    @Test(arguments: [(ImageOrder.firstInFirstOut, "4"), (.lastInFirstOut, "9")])
    func aFewTransfersRunAtATime(order: ImageOrder, next: String) async throws {
        let test = ImageLoading { $0.order = order }
        let log = ImageLog()
        let bag = DeallocBag()
        func start(_ index: Int) { test.images.load(ImageRequest("\(index)")).onSuccess { _ in log.add("\(index)") }.start(in: bag) }
        for index in 0..<4 { start(index) }
        await test.mock.waitForExchanges(4)
        for index in 4..<10 { start(index) }
        while test.images.activity.waitingTransfers < 6 { await Task.yield() }
        #expect(test.mock.exchanges.count == 4 && test.images.activity.transfers == 4)
        test.mock.exchanges[0].respond(ImageLoading.reply(ImageLoading.bitmap()))
        await test.mock.waitForExchanges(5)
        #expect(test.mock.exchanges[4].path == "/" + next)
        for index in 1..<10 {
            await test.mock.waitForExchanges(index + 1)
            test.mock.exchanges[index].respond(ImageLoading.reply(ImageLoading.bitmap()))
        }
        await bag.waitUntilIdle()
        #expect(log.all.count == 10 && test.images.activity.transfers == 0)
        await test.end()
    }

    /// AFNetworking 3469: a queued task that was cancelled took away from the count of the running ones. IMD-3, defect 15.
    @Test func cancellingOneThatWaitsFreesNothing() async throws {
        let test = ImageLoading { $0.transfersAtOnce = 1 }
        let bag = DeallocBag()
        test.images.load("0").start(in: bag)
        await test.mock.waitForExchanges(1)
        let waiting = (1...3).map { test.images.load(ImageRequest("\($0)")).start(in: bag) }
        while test.images.activity.waitingTransfers < 3 { await Task.yield() }
        waiting[0].cancel()
        waiting[1].cancel()
        while test.images.activity.waitingTransfers > 1 { await Task.yield() }
        #expect(test.mock.exchanges.count == 1 && test.images.activity.transfers == 1)
        test.mock.exchanges[0].respond(ImageLoading.reply(ImageLoading.bitmap()))
        await test.mock.waitForExchanges(2)
        #expect(test.mock.exchanges[1].path == "/3")
        test.mock.exchanges[1].respond(ImageLoading.reply(ImageLoading.bitmap()))
        await test.end()
    }

    /// Files do not pile up where decoding is behind: as many as there may be transfers and decodings, and no more.
    @Test func transfersWaitForDecoding() async throws {
        let decoder = CountingDecoder()
        decoder.isHeldUp.withLock { $0 = true }
        let test = ImageLoading {
            $0.decoders.append(decoder)
            $0.decodesAtOnce = 1
        }
        let (bag, log) = (DeallocBag(), ImageLog())
        for index in 0..<30 { test.images.load(ImageRequest("\(index)")).onSuccess { _ in log.add("") }.start(in: bag) }
        for index in 0..<5 {
            await test.mock.waitForExchanges(index + 1)
            test.mock.exchanges[index].respond(ImageLoading.reply(ImageLoading.bitmap()))
        }
        while test.images.activity.waitingDecodings < 4 || test.images.activity.transfers < 4 { await Task.yield() }
        #expect(test.mock.exchanges.count == 5)
        decoder.isHeldUp.withLock { $0 = false }
        for index in 5..<30 {
            await test.mock.waitForExchanges(index + 1)
            test.mock.exchanges[index].respond(ImageLoading.reply(ImageLoading.bitmap()))
        }
        await bag.waitUntilIdle()
        #expect(log.all.count == 30)
        await test.end()
    }

    /// A load that must not ask the server has nothing to do with one that may.
    @Test func anotherCachePolicyIsAnotherLoad() async throws {
        let test = ImageLoading(cache: folder.cache())
        var stored = ImageRequest("a.bmp")
        stored.cache = .only
        async let whatever = test.images.image("a.bmp")
        await test.mock.waitForExchanges(1)
        await #expect(throws: ImageLoadError.self) { try await test.images.image(stored) }
        test.mock.exchanges[0].respond(ImageLoading.reply(ImageLoading.bitmap()))
        let width = try await whatever.width
        #expect(width == 4)
        #expect(try await test.images.image(stored).width == 4)
        await test.end()
    }

    @Test func aReceiptMakesItsLoadMoreUrgent() async throws {
        let test = ImageLoading { $0.transfersAtOnce = 1 }
        let first = test.images.load("0").start()
        await test.mock.waitForExchanges(1)
        let second = test.images.load("1").start()
        let third = test.images.load(ImageRequest("2", priority: .low)).start()
        while test.images.activity.waitingTransfers < 2 { await Task.yield() }
        third.setPriority(.high)
        for index in 0..<3 {
            await test.mock.waitForExchanges(index + 1)
            test.mock.exchanges[index].respond(ImageLoading.reply(ImageLoading.bitmap()))
        }
        for receipt in [first, second, third] { _ = await receipt.operation.outcome() }
        #expect(test.mock.exchanges.map(\.path) == ["/0", "/2", "/1"])
        await test.end()
    }

    // MARK: Memory

    @Test func aPictureInMemoryIsThereAtOnce() async throws {
        let test = ImageLoading()
        test.mock.on("a.bmp", ImageLoading.reply(ImageLoading.bitmap()))
        #expect(test.images.cached("a.bmp") == nil)
        _ = try await test.images.image("a.bmp")
        #expect(test.images.cached("a.bmp") != nil && test.images.cached(ImageRequest("a.bmp", size: PixelSize(2, 2))) == nil)
        _ = try await test.images.image("a.bmp")
        #expect(test.mock.exchanges.count == 1)
        var again = ImageRequest("a.bmp")
        again.cache = .revalidate
        #expect(test.images.cached(again) == nil)
        _ = try await test.images.image(again)
        #expect(test.mock.exchanges.count == 2)
        test.images.removeAll()
        #expect(test.images.cached("a.bmp") == nil)
        await test.end()
    }

    /// A stale avatar is not for ever (AFNetworking 2731, 3283), and a secret one is not kept. IMC-3.
    @Test(arguments: [("max-age=60", true, 1), ("max-age=0", true, 2), ("no-cache", true, 2), ("no-store", false, 2)])
    func memoryKnowsTheFreshnessOfHTTP(control: String, isKept: Bool, transfers: Int) async throws {
        let test = ImageLoading()
        test.mock.on("a.bmp", ImageLoading.reply(ImageLoading.bitmap(), [.cacheControl: control]))
        _ = try await test.images.image("a.bmp")
        // To be shown until the fresh one is there.
        #expect((test.images.cached("a.bmp") != nil) == isKept)
        _ = try await test.images.image("a.bmp")
        #expect(test.mock.exchanges.count == transfers)
        await test.end()
    }

    /// Status 304 renews a picture without decoding it.
    @Test(arguments: [true, false]) func whatIsStillRightIsNotMadeAgain(isSame: Bool) async throws {
        let decoder = CountingDecoder()
        let test = ImageLoading(cache: folder.cache()) { $0.decoders.append(decoder) }
        test.mock.on("a.bmp") { exchange in
            if exchange.headers[.ifNoneMatch] != nil {
                var reply = MockReply(status: 304)
                reply.headers = [.eTag: "\"1\"", .cacheControl: "max-age=0"]
                return reply
            }
            return ImageLoading.reply(ImageLoading.bitmap(), [.cacheControl: "max-age=0", .eTag: "\"1\""])
        }
        let first = try await test.images.image("a.bmp")
        // A picture of another version is not taken for this one.
        if !isSame {
            test.images.memory.insert(first, for: try #require(test.images.memory.keys.first), freshUntil: .now, validator: "\"0\"")
        }
        _ = try await test.images.image("a.bmp")
        #expect(test.mock.exchanges.count == 2 && test.mock.exchanges[1].headers[.ifNoneMatch] == "\"1\"")
        #expect(decoder.decodings == (isSame ? 1 : 2))
        await test.end()
    }

    /// The identity is a part of the store, too: what one account was sent is not given to the next.
    @Test func eachIdentityHasItsStore() async throws {
        let test = ImageLoading(cache: folder.cache())
        test.mock.on("me.bmp", ImageLoading.reply(ImageLoading.bitmap(), [.cacheControl: "private, max-age=60"]))
        for (name, transfers) in [("ann", 1), ("bob", 2), ("ann", 2)] {
            test.images.identity = name
            test.images.memory.removeAll()
            _ = try await test.images.image("me.bmp")
            #expect(test.mock.exchanges.count == transfers, "\(name)")
        }
        await test.end()
    }

    /// A load that waits while another account logs in would be sent with that one's credentials.
    @Test func aLoadOfTheAccountBeforeIsNotSent() async throws {
        let test = ImageLoading { $0.transfersAtOnce = 1 }
        test.images.identity = "ann"
        let log = ImageLog()
        let first = test.images.load("a.bmp").start()
        await test.mock.waitForExchanges(1)
        let second = test.images.load("b.bmp").onFailure { _ in log.add("failure") }.onSuccess { _ in log.add("success") }.start()
        while test.images.activity.waitingTransfers < 1 { await Task.yield() }
        test.images.identity = "bob"
        test.mock.exchanges[0].respond(ImageLoading.reply(ImageLoading.bitmap()))
        guard case .cancelled = await second.operation.outcome() else {
            Issue.record("it was sent")
            return
        }
        _ = await first.operation.outcome()
        #expect(test.mock.exchanges.count == 1 && log.all.isEmpty)
        await test.end()
    }

    /// One that may not be kept any more is not shown from memory either.
    @Test func aPictureThatMayNotBeKeptGoes() async throws {
        let test = ImageLoading()
        test.mock.on(
            "a.bmp",
            [
                ImageLoading.reply(ImageLoading.bitmap(), [.cacheControl: "max-age=0"]),
                ImageLoading.reply(ImageLoading.bitmap(), [.cacheControl: "no-store"]),
            ])
        _ = try await test.images.image("a.bmp")
        #expect(test.images.cached("a.bmp") != nil)
        _ = try await test.images.image("a.bmp")
        #expect(test.images.cached("a.bmp") == nil)
        await test.end()
    }

    /// Bytes of the response cache are decoded anew, and not fetched: another size of a stored file costs nothing on the wire.
    @Test func anotherSizeOfAStoredFileIsNotFetched() async throws {
        let test = ImageLoading(cache: folder.cache())
        test.mock.on("a.bmp", ImageLoading.reply(ImageLoading.bitmap(64, 64)))
        _ = try await test.images.image("a.bmp")
        let small = try await test.images.image(ImageRequest("a.bmp", size: PixelSize(8, 8)))
        #expect(small.width == 8 && test.mock.exchanges.count == 1)
        await test.end()
    }

    // MARK: Making it

    /// IMC-3.
    @Test func processorsAndScaleMakeAPictureOfTheirOwn() async throws {
        let test = ImageLoading()
        test.mock.on("a.bmp", ImageLoading.reply(ImageLoading.bitmap(64, 32)))
        var request = ImageRequest("a.bmp", size: PixelSize(16, 16), mode: .fill, processors: [.cropToFill(PixelSize(16, 16)), .circle])
        let image = try await test.images.image(request)
        #expect(image.width == 16 && image.height == 16 && image.withPixels { $0[3] } == 0)
        #expect(test.images.cached("a.bmp") == nil && test.images.cached(request) != nil)
        request.scale = 2
        #expect(test.images.cached(request) == nil)
        #expect(try await test.images.image(request).scale == 2)
        await test.end()
    }

    /// SDWebImage 1178: no more than that.
    @Test func acceptNamesWhatCanBeDecoded() async throws {
        let test = ImageLoading()
        test.mock.on("a.bmp", ImageLoading.reply(ImageLoading.bitmap()))
        _ = try await test.images.image("a.bmp")
        let accept = try #require(test.mock.exchanges[0].headers[.accept])
        #if Images
        #expect(accept.hasPrefix("image/webp, image/png, image/jpeg, image/gif"))
        #else
        #expect(accept.hasPrefix("image/gif") && !accept.contains("webp"))
        #endif
        #expect(!accept.contains("avif") && accept.hasSuffix("*/*;q=0.1"))
        await test.end()
    }

    // MARK: Errors

    @Test func errorsSayWhatFailed() async throws {
        let test = ImageLoading(unanswered: .fail)
        test.mock.on("gone", .status(404))
        test.mock.on("text", .ok("no picture at all, but a page that says that the file has moved"))
        test.mock.on("cut", ImageLoading.reply(ImageLoading.bitmap().prefix(80)))
        test.mock.on("lost", .failing(.connectionLost))
        func error(_ url: String) async -> String {
            do throws(ImageLoadError) { _ = try await test.images.image(ImageRequest(url)) } catch {
                return switch error {
                case .transfer(let error): "transfer \(error.code)"
                case .image(.unknownFormat): "unknown"
                case .image(.damaged(let format, _)): "damaged \(format)"
                default: "\(error)"
                }
            }
            return "none"
        }
        #expect(await error("gone") == "transfer unacceptableStatus")
        #expect(await error("text") == "unknown")
        #expect(await error("cut") == "damaged bmp")
        #expect(await error("lost") == "transfer connectionLost")
        await test.end()
    }

    /// No black list (SDWebImage 465, 1091): a picture that is missing is asked for each time, or after a while where that is wanted.
    @Test func aMissingPictureIsRememberedForAWhile() async throws {
        let plain = ImageLoading()
        plain.mock.on("gone", .status(404))
        for _ in 0..<2 { await #expect(throws: ImageLoadError.self) { try await plain.images.image("gone") } }
        #expect(plain.mock.exchanges.count == 2)
        await plain.end()
        let test = ImageLoading { $0.missingAge = .seconds(600) }
        test.mock.on("gone", .status(410))
        test.mock.on("broken", .status(500))
        for _ in 0..<2 { await #expect(throws: ImageLoadError.self) { try await test.images.image("gone") } }
        #expect(test.mock.exchanges.count == 1)
        for _ in 0..<2 { await #expect(throws: ImageLoadError.self) { try await test.images.image("broken") } }
        #expect(test.mock.exchanges.count == 3)
        test.images.removeAll()
        await #expect(throws: ImageLoadError.self) { try await test.images.image("gone") }
        #expect(test.mock.exchanges.count == 4)
        await test.end()
    }

    /// A bomb is refused when its header is there, and the rest of it is not fetched (AFNetworking 1182, SDWebImage 1072).
    @Test func aBombIsStoppedByItsHeader() async throws {
        let test = ImageLoading()
        let task = Task { try await test.images.image("bomb.png") }
        await test.mock.waitForExchanges(1)
        let exchange = test.mock.exchanges[0]
        exchange.receiveHead(headers: [.contentLength: "2600000"])
        exchange.receive(ImageSamples.png(30_000, 30_000))
        await #expect {
            try await task.value
        } throws: { error in
            guard case .image(.exceeds(.pixels, actual: 900_000_000, most: _))? = error as? ImageLoadError else { return false }
            return true
        }
        #expect(exchange.isCancelled)
        await test.end()
    }

    @Test func aFileThatIsTooLongIsNotReadToItsEnd() async throws {
        let test = ImageLoading { $0.limits.bodyBytes = 1_000 }
        test.mock.on("a.bmp", ImageLoading.reply(ImageLoading.bitmap(64, 64)))
        await #expect {
            try await test.images.image("a.bmp")
        } throws: { error in
            guard case .image(.exceeds(.bodyBytes, actual: _, most: 1_000))? = error as? ImageLoadError else { return false }
            return true
        }
        await test.end()
    }
}
