import CleanSlate
import Dispatch
import FoundationEssentials
import HTTPTypes
import ScopedNetTesting
import SystemSupport
import Testing

@_spi(Transport) @testable import ScopedNet
@testable import ScopedNetImages

/// Files that are looked at while they arrive: whose bytes these are, and where it is done.
@Suite(.leavesNothing, .timeLimit(.minutes(3))) struct ArrivingImageTests {
    private final class Shown: Sendable {
        private let files = Lock<[Data]>([])
        var all: [Data] { files.withLock { $0 } }
        func add(_ data: Data) { files.withLock { $0.append(data) } }
    }

    private let file = ImageLoading.bitmap(100, 100)

    private func fields(_ tag: String, _ from: Int, to end: Int) -> HTTPFields {
        [.eTag: tag, .contentRange: "bytes \(from)-\(end)/\(file.count)", .contentLength: "\(end - from + 1)"]
    }

    /// The file with what came of it before, and all that was shown of it.
    private func arriving(after count: Int) throws -> (ArrivingImage, Shown) {
        let head = ResponseHead(status: 200, headers: [.eTag: "\"1\"", .acceptRanges: "bytes", .contentLength: "\(file.count)"])
        let before = try #require(PartialImage(file.prefix(count), head: head, after: nil))
        let shown = Shown()
        return (ArrivingImage(after: before, limits: .standard, isWatched: { true }) { _, _, data in shown.add(data) }, shown)
    }

    private func body(_ data: Data) -> CollectedBody {
        let body = CollectedBody()
        _ = data.withUnsafeBytes { body.append($0) }
        return body
    }

    @Test func theRestIsShownBehindTheBeginning() throws {
        let (image, shown) = try arriving(after: 20_000)
        image.began(ResponseHead(status: 206, headers: fields("\"1\"", 20_000, to: file.count - 1)), body(file[20_000..<25_000]))
        #expect(image.look())
        #expect(shown.all == [file.prefix(25_000)] && image.count == 25_000)
        #expect(image.beginning?.data == file.prefix(25_000))
    }

    /// Two versions of a file, or two places of it, are never one picture.
    @Test(arguments: [("\"2\"", 20_000), ("\"1\"", 19_000), ("\"1\"", 21_000)])
    func aPartOfSomethingElseIsNotShown(tag: String, from: Int) throws {
        let (image, shown) = try arriving(after: 20_000)
        image.began(ResponseHead(status: 206, headers: fields(tag, from, to: file.count - 1)), body(file[from..<from + 5_000]))
        #expect(image.look())
        #expect(shown.all.isEmpty && image.count == 5_000 && image.error == nil)
        #expect(image.beginning == nil)
    }

    /// A whole file in place of the rest is looked at by itself.
    @Test func anotherFileBeginsAnew() throws {
        let (image, shown) = try arriving(after: 20_000)
        let head = ResponseHead(status: 200, headers: [.eTag: "\"2\"", .contentLength: "\(file.count)"])
        image.began(head, body(file.prefix(9_000)))
        #expect(image.look())
        #expect(shown.all == [file.prefix(9_000)] && image.count == 9_000)
    }

    /// The main thread draws, or waits for something: a file that is refused is stopped nevertheless.
    @Test func aBusyDeliveryQueueDoesNotLetARefusedFileCome() async throws {
        let (queue, isFree) = (DispatchQueue(label: "busy"), DispatchSemaphore(value: 0))
        let session = MockTransport.session("http://images.test/", unanswered: .wait) { $0.deliveryQueue = queue }
        var configuration = ImageLoader.Configuration()
        configuration.relievesMemory = false
        configuration.limits.pixels = 5_000
        let images = ImageLoader(session, configuration: configuration)
        queue.async { isFree.wait() }
        let task = Task { try await images.image("a.bmp") }
        await session.mock.waitForExchanges(1)
        let exchange = session.mock.exchanges[0]
        exchange.receiveHead(status: 200, headers: [.contentLength: "\(file.count)"])
        exchange.receive(file.prefix(1_000))
        while !exchange.isCancelled { await Task.yield() }
        isFree.signal()
        let result = await task.result
        guard case .failure(let error) = result else { return #expect(Bool(false), "a picture") }
        let failure = try #require(error as? ImageLoadError)
        guard case .image(.exceeds(.pixels, actual: 10_000, most: 5_000)) = failure else { return #expect(Bool(false), "\(failure)") }
        await session.agent.waitUntilIdle()
        await session.shutdown()
    }

    /// The policy of the session counts for memory, too, until a request has one of its own.
    @Test func theSessionsPolicyCountsForMemory() async throws {
        let session = MockTransport.session("http://images.test/", unanswered: .wait) { $0.options.cache = .off }
        let images = ImageLoader(session, configuration: ImageLoader.Configuration())
        let mock = session.mock
        for path in ["a.bmp", "b.bmp"] { mock.on(path, ImageLoading.reply(file)) }
        for _ in 0..<2 { _ = try await images.image("a.bmp") }
        #expect(mock.exchanges.count == 2 && images.cached("a.bmp") == nil)
        var request = ImageRequest("b.bmp")
        request.cache = .standard
        for _ in 0..<2 { _ = try await images.image(request) }
        #expect(mock.exchanges.count == 3 && images.cached(request) != nil)
        await session.agent.waitUntilIdle()
        await session.shutdown()
    }
}
