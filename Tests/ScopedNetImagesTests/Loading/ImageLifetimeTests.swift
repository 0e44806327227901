import CleanSlate
import FoundationEssentials
import Glibc
import HTTPTypes
import ScopedNet
import ScopedNetTesting
import Testing

@testable import ScopedNetImages

/// The ends of loads: receipts, bags, cancels, and transfers that nobody waits for any more.
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct ImageLifetimeTests {
    private let folder = TemporaryFolder()

    private final class Cell: Sendable {
        let bag = DeallocBag()
        let log: ImageLog
        init(_ log: ImageLog) { self.log = log }
    }

    /// Defect 43.
    @Test func aLoadEndsWithItsOwner() async throws {
        let test = ImageLoading()
        let log = ImageLog()
        var cell: Cell? = Cell(log)
        if let cell {
            test.images.load("a.bmp").onSuccess(for: cell) { cell, _ in cell.log.add("success") }
                .onFailure(for: cell) { cell, _ in cell.log.add("failure") }.onEnd { log.add("\($0)") }.start(in: cell.bag)
        }
        await test.mock.waitForExchanges(1)
        cell = nil
        await test.session.agent.waitUntilIdle()
        #expect(test.mock.exchanges[0].isCancelled)
        #expect(log.all == ["cancelled(ScopedNet.CancelReason.ownerReleased)"] || log.all.count == 1 && log.all[0].contains("cancelled"))
        await test.end()
    }

    @MainActor private final class Page {
        let bag = DeallocBag()
        var log: [String] = []
    }

    /// The call for an actor waits for its turn there; that the load is over by then does not take it back.
    @Test(arguments: [true, false]) @MainActor func closuresOfTheMainActorAreCalled(succeeds: Bool) async throws {
        let test = ImageLoading(unanswered: .fail)
        let data = succeeds ? ImageLoading.bitmap() : Data("no picture".utf8)
        test.mock.on("a.bmp", ImageLoading.reply(data, [.cacheControl: "no-store"]))
        for round in 0..<50 {
            let page = Page()
            let operation = test.images.load("a.bmp").onProgress(for: page) { _, _ in }.onSuccess(for: page) { page, _ in
                page.log.append("success")
            }
            .onFailure(for: page) { page, _ in page.log.append("failure") }.start(in: page.bag)
            // Busy for a while.
            if round % 5 == 0 { usleep(5_000) }
            let outcome = await operation.outcome()
            switch outcome {
            case .succeeded: #expect(succeeds)
            case .failed: #expect(!succeeds)
            case .cancelled(let reason): Issue.record("cancelled: \(reason)")
            }
            #expect(page.log == [succeeds ? "success" : "failure"])
        }
        await test.end()
    }

    /// IMD-5, defect 44.
    @Test func aReceiptThatGoesCancelsItsLoadAlone() async throws {
        let test = ImageLoading()
        let log = ImageLog()
        let kept = test.images.load("a.bmp").onSuccess { _ in log.add("kept") }.start()
        var gone: ImageReceipt? = test.images.load("a.bmp").onSuccess { _ in log.add("gone") }.start()
        await test.mock.waitForExchanges(1)
        #expect(gone?.isRunning == true)
        gone = nil
        #expect(!test.mock.exchanges[0].isCancelled)
        test.mock.exchanges[0].respond(ImageLoading.reply(ImageLoading.bitmap()))
        _ = await kept.operation.outcome()
        #expect(log.all == ["kept"])
        await test.end()
    }

    /// AlamofireImage 121, AFNetworking 3324: a load that was cancelled and begun again stalled. IMD-4.
    @Test func oneThatIsCancelledAndBegunAgainComes() async throws {
        let test = ImageLoading()
        for _ in 0..<50 {
            let first = test.images.load("a.bmp").start()
            await Task.yield()
            first.cancel()
        }
        let width = Task { try await test.images.image("a.bmp").width }
        // It has a transfer of its own, or has taken over the one before it.
        while test.images.memory.count == 0 {
            for exchange in test.mock.exchanges where !exchange.isEnded { exchange.respond(ImageLoading.reply(ImageLoading.bitmap())) }
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(try await width.value == 4)
        await test.end()
    }

    @Test func aCancelledTaskEndsItsLoad() async throws {
        let test = ImageLoading()
        let task = Task { try await test.images.image("a.bmp") }
        await test.mock.waitForExchanges(1)
        task.cancel()
        await #expect {
            try await task.value
        } throws: { ($0 as? ImageLoadError)?.isCancelled == true }
        await test.session.agent.waitUntilIdle()
        #expect(test.mock.exchanges[0].isCancelled)
        await test.end()
    }

    @Test func theEndOfASessionEndsItsLoads() async throws {
        let test = ImageLoading()
        async let image = test.images.image("a.bmp")
        await test.mock.waitForExchanges(1)
        await test.session.shutdown()
        do {
            _ = try await image
            Issue.record("there is none")
        } catch let error as ImageLoadError { #expect(error.isCancelled) }
        await #expect(throws: ImageLoadError.self) { try await test.images.image("b.bmp") }
    }

    // MARK: The last one

    private func arrive(_ exchange: MockExchange, _ data: Data, part: Int, fields: HTTPFields = [:]) {
        var fields = fields
        fields[.contentLength] = "\(data.count)"
        exchange.receiveHead(headers: fields)
        exchange.receive(data.prefix(part))
    }

    /// AFNetworking 3784, Nuke 147, 342: a cancel threw away a transfer that was nearly complete. One that is far enough is finished into the response
    /// cache where that is wanted. IMD-5, defect 59.
    @Test(arguments: [(0.9, false), (0.5, true)]) func aTransferThatIsFarEnoughIsFinished(atLeast: Double, isFinished: Bool) async throws {
        let test = ImageLoading(cache: folder.cache()) { $0.onLastCancel = .finish(atLeast: atLeast) }
        let data = ImageLoading.bitmap(100, 100)
        var receipt: ImageReceipt? = test.images.load("a.bmp").start()
        await test.mock.waitForExchanges(1)
        arrive(test.mock.exchanges[0], data, part: data.count * 6 / 10, fields: [.cacheControl: "max-age=60"])
        while test.images.arrivedBytes < data.count / 2 { await Task.yield() }
        #expect(receipt?.isRunning == true)
        receipt = nil
        if isFinished {
            test.mock.exchanges[0].receive(data.suffix(from: data.count * 6 / 10))
            test.mock.exchanges[0].finish()
        }
        await test.session.agent.waitUntilIdle()
        #expect(test.mock.exchanges[0].isCancelled != isFinished)
        // Its task is on its way out for a moment more.
        while test.images.activity.transfers > 0 { await Task.yield() }
        if isFinished {
            _ = try await test.images.image("a.bmp")
            #expect(test.mock.exchanges.count == 1)
        }
        await test.end()
    }

    /// AFNetworking 3784: on a slow network a cell that came back began its download from the start. Defect 59: the download is kept, and its callback is gone.
    @Test func whatBrokeOffIsContinued() async throws {
        let test = ImageLoading(cache: folder.cache())
        let data = ImageLoading.bitmap(200, 200)
        let fields: HTTPFields = [.eTag: "\"7\"", .acceptRanges: "bytes", .cacheControl: "max-age=60"]
        let part = data.count * 6 / 10
        var receipt: ImageReceipt? = test.images.load("a.bmp").start()
        await test.mock.waitForExchanges(1)
        arrive(test.mock.exchanges[0], data, part: part, fields: fields)
        while test.images.arrivedBytes < part { await Task.yield() }
        #expect(receipt?.isRunning == true)
        receipt = nil
        await test.session.agent.waitUntilIdle()
        async let image = test.images.image("a.bmp")
        await test.mock.waitForExchanges(2)
        let second = test.mock.exchanges[1]
        #expect(second.headers[.range] == "bytes=\(part)-" && second.headers[.ifRange] == "\"7\"")
        var rest = fields
        rest[.contentRange] = "bytes \(part)-\(data.count - 1)/\(data.count)"
        rest[.contentLength] = "\(data.count - part)"
        second.receiveHead(status: 206, headers: rest)
        second.receive(data.suffix(from: part))
        second.finish()
        let whole = try await image
        #expect(whole.width == 200 && whole.withPixels { pixels in (0..<40_000).allSatisfy { pixels[$0 * 4] == 200 } })
        // It is stored as if it had come in one.
        test.images.removeAll()
        _ = try await test.images.image("a.bmp")
        #expect(test.mock.exchanges.count == 2)
        await test.end()
    }

    /// A range that the server does not know any more (status 416) is not asked for again.
    @Test func aRangeThatIsNoneIsForgotten() async throws {
        let test = ImageLoading()
        let data = ImageLoading.bitmap(200, 200)
        try await breakOff(test, data)
        async let image = test.images.image("a.bmp")
        await test.mock.waitForExchanges(2)
        test.mock.exchanges[1].respond(.status(416))
        await test.mock.waitForExchanges(3)
        #expect(test.mock.exchanges[2].headers[.range] == nil)
        test.mock.exchanges[2].respond(ImageLoading.reply(data))
        let width = try await image.width
        #expect(width == 200)
        await test.end()
    }

    /// A second break keeps what the first one had.
    @Test func aFileMayBreakOffTwice() async throws {
        let test = ImageLoading()
        let data = ImageLoading.bitmap(200, 200)
        let fields: HTTPFields = [.eTag: "\"7\"", .acceptRanges: "bytes"]
        let half = data.count / 2
        try await breakOff(test, data)
        for (round, start) in [half, half * 3 / 2].enumerated() {
            let task = Task { try await test.images.image("a.bmp") }
            await test.mock.waitForExchanges(round + 2)
            let exchange = test.mock.exchanges[round + 1]
            #expect(exchange.headers[.range] == "bytes=\(start)-")
            var rest = fields
            rest[.contentRange] = "bytes \(start)-\(data.count - 1)/\(data.count)"
            rest[.contentLength] = "\(data.count - start)"
            exchange.receiveHead(status: 206, headers: rest)
            guard round == 0 else {
                exchange.receive(data.suffix(from: start))
                exchange.finish()
                #expect(try await task.value.width == 200)
                continue
            }
            exchange.receive(data[start..<half * 3 / 2])
            while test.images.arrivedBytes < half * 3 / 2 { await Task.yield() }
            exchange.fail()
            await #expect(throws: ImageLoadError.self) { try await task.value }
        }
        await test.end()
    }

    /// Half of a file, and a connection that is lost.
    private func breakOff(_ test: ImageLoading, _ data: Data) async throws {
        let task = Task { try await test.images.image("a.bmp") }
        await test.mock.waitForExchanges(1)
        arrive(test.mock.exchanges[0], data, part: data.count / 2, fields: [.eTag: "\"7\"", .acceptRanges: "bytes"])
        while test.images.arrivedBytes < data.count / 2 { await Task.yield() }
        test.mock.exchanges[0].fail()
        await #expect(throws: ImageLoadError.self) { try await task.value }
    }

    /// A file that has changed meanwhile comes whole (status 200), and a wrong rest is not believed.
    @Test(arguments: ["changed", "wrong"]) func anotherFileIsNotMixedWithTheFirst(how: String) async throws {
        let test = ImageLoading()
        let (old, new) = (ImageLoading.bitmap(200, 200, red: 1), ImageLoading.bitmap(200, 200, red: 9))
        let fields: HTTPFields = [.eTag: "\"7\"", .acceptRanges: "bytes"]
        let part = old.count / 2
        var receipt: ImageReceipt? = test.images.load("a.bmp").start()
        await test.mock.waitForExchanges(1)
        arrive(test.mock.exchanges[0], old, part: part, fields: fields)
        while test.images.arrivedBytes < part { await Task.yield() }
        #expect(receipt?.isRunning == true)
        receipt = nil
        await test.session.agent.waitUntilIdle()
        async let image = test.images.image("a.bmp")
        await test.mock.waitForExchanges(2)
        if how == "wrong" {
            // Another version's rest.
            test.mock.exchanges[1].receiveHead(
                status: 206,
                headers: [
                    .eTag: "\"8\"", .contentRange: "bytes \(part)-\(old.count - 1)/\(old.count)", .contentLength: "\(old.count - part)",
                ])
            test.mock.exchanges[1].receive(new.suffix(from: part))
            test.mock.exchanges[1].finish()
            await test.mock.waitForExchanges(3)
            #expect(test.mock.exchanges[2].headers[.range] == nil)
        }
        test.mock.exchanges.last?.respond(ImageLoading.reply(new, [:]))
        let whole = try await image
        #expect(whole.withPixels { pixels in (0..<40_000).allSatisfy { pixels[$0 * 4] == 9 } })
        await test.end()
    }

    // MARK: Ahead

    /// AlamofireImage 480: one synchronous protocol stood for memory and disk. Memory answers at once, without what is stored; a load awaits the store.
    @Test func whatWasFetchedAheadIsNotFetchedAgain() async throws {
        let test = ImageLoading(cache: folder.cache())
        for name in ["a.bmp", "b.bmp"] { test.mock.on(name, ImageLoading.reply(ImageLoading.bitmap())) }
        let ahead = test.images.prefetch(["a.bmp", "b.bmp"])
        await ahead.waitUntilDone()
        #expect(ahead.remaining == 0 && test.images.memory.count == 0 && test.mock.exchanges.count == 2)
        _ = try await test.images.image("a.bmp")
        #expect(test.mock.exchanges.count == 2 && test.images.cached("a.bmp") != nil && test.images.cached("b.bmp") == nil)
        let pictures = test.images.prefetch(["b.bmp"], to: .memory)
        await pictures.waitUntilDone()
        #expect(test.images.cached("b.bmp") != nil)
        await test.end()
    }

    @Test func aLoadTakesOverWhatIsFetchedAhead() async throws {
        let test = ImageLoading()
        var ahead: ImagePrefetch? = test.images.prefetch(["a.bmp", "b.bmp"])
        await test.mock.waitForExchanges(2)
        // Of two that may run at once either one may come first.
        let wanted = try #require(test.mock.exchanges.first { $0.path == "/a.bmp" })
        let other = try #require(test.mock.exchanges.first { $0.path == "/b.bmp" })
        async let image = test.images.image("a.bmp")
        while test.images.fileWaiters < 3 { await Task.yield() }
        #expect(ahead?.remaining == 2)
        ahead = nil
        while !other.isCancelled { await Task.yield() }
        #expect(!wanted.isCancelled)
        wanted.respond(ImageLoading.reply(ImageLoading.bitmap()))
        let width = try await image.width
        #expect(width == 4)
        await test.end()
    }

    // MARK: Before it is there

    @Test func progressIsToldToEachWhoWantsIt() async throws {
        let test = ImageLoading()
        let (log, bag, data) = (ImageLog(), DeallocBag(), ImageLoading.bitmap(100, 100))
        for name in ["a", "b"] {
            test.images.load("a.bmp").onProgress { progress in log.add("\(name) \(progress.completed == data.count)") }
                .onSuccess { _ in log.add("\(name) done") }.start(in: bag)
        }
        await test.mock.waitForExchanges(1)
        while test.images.fileWaiters < 1 { await Task.yield() }
        test.mock.exchanges[0].respond(ImageLoading.reply(data))
        await bag.waitUntilIdle()
        #expect(log.all.contains("a true") && log.all.contains("b true"))
        #expect(log.all.filter { $0.hasSuffix("done") }.count == 2)
        await test.end()
    }

    #if Images
    /// The pause between previews is not one before the picture.
    @Test func previewsDoNotHoldThePictureUp() async throws {
        let test = ImageLoading { $0.previewInterval = .seconds(3_600) }
        let (log, bag, data) = (ImageLog(), DeallocBag(), try CodecSamples.file("progressive.jpg"))
        test.images.load("a.jpg").onPreview { _ in log.add("preview") }.onSuccess { _ in log.add("picture") }.start(in: bag)
        await test.mock.waitForExchanges(1)
        test.mock.exchanges[0].receiveHead(headers: [.contentLength: "\(data.count)"])
        test.mock.exchanges[0].receive(data.prefix(data.count * 3 / 4))
        while log.all.isEmpty { await Task.yield() }
        test.mock.exchanges[0].receive(data.suffix(from: data.count * 3 / 4))
        test.mock.exchanges[0].finish()
        await bag.waitUntilIdle()
        #expect(log.all == ["preview", "picture"])
        await test.end()
    }

    /// Nuke 115, 332: progressive pictures were shown when they were whole.
    @Test func aProgressivePictureIsShownBeforeItIsWhole() async throws {
        let test = ImageLoading { $0.previewInterval = .zero }
        let (log, bag, data) = (ImageLog(), DeallocBag(), try CodecSamples.file("progressive.jpg"))
        test.images.load(ImageRequest("a.jpg")).onPreview { image in log.add("preview \(image.width)") }
            .onSuccess { image in log.add("picture \(image.width)") }.start(in: bag)
        await test.mock.waitForExchanges(1)
        let exchange = test.mock.exchanges[0]
        exchange.receiveHead(headers: [.contentLength: "\(data.count)"])
        exchange.receive(data.prefix(data.count * 3 / 4))
        while log.all.isEmpty { await Task.yield() }
        exchange.receive(data.suffix(from: data.count * 3 / 4))
        exchange.finish()
        await bag.waitUntilIdle()
        #expect(log.all.first == "preview \(CodecSamples.photo.width)" && log.all.last == "picture \(CodecSamples.photo.width)")
        let previews = log.all.filter { $0.hasPrefix("preview") }
        #expect((1...3).contains(previews.count) && log.all.filter { $0.hasPrefix("picture") }.count == 1)
        await test.end()
    }
    #endif
}
