#if Images
import CleanSlate
import Dispatch
import FoundationEssentials
import Glibc
import HTTPTypes
import Persistence
import ScopedNet
import ScopedNetTesting
import SystemSupport
import Testing

@testable import ScopedNetImages

/// Loads of pictures that arrive in pieces, with previews, over a response cache on disk that keeps results too: begun, cancelled and let go by several threads at
/// once, while memory and cache are emptied and accounts change.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(10))) struct PreviewHammerTests {
    private static let rounds = 30
    private static let threads = 4
    private static let loadsOfAThread = 6

    @Test(.onOwnThread) func loadsWithPreviewsAndResults() async throws {
        let hammer = try PreviewHammer()
        var sources: Set<ImageResponse.Source> = []
        var previews = 0
        for round in 0..<Self.rounds {
            // Files that are stored are decoded again.
            if round % 2 == 1 { hammer.emptyMemory() }
            let records = (0..<Self.threads * Self.loadsOfAThread).map { _ in LoadRecord() }
            let bag = Lock<DeallocBag?>(DeallocBag())
            DispatchQueue.concurrentPerform(iterations: Self.threads) { thread in
                let own = records[thread * Self.loadsOfAThread..<(thread + 1) * Self.loadsOfAThread]
                hammer.work(round, thread, Array(own), bag)
            }
            await hammer.session.agent.waitUntilIdle()
            // Its loads are over; what is left of it goes outside of the lock.
            _ = bag.withLock { $0.take() }
            await hammer.waitUntilIdle()
            for (number, record) in records.enumerated() {
                let problem = record.problem
                #expect(problem == nil, "round \(round), load \(number)")
                sources.formUnion(record.sources)
                previews += record.previews
            }
        }
        await hammer.end()
        // All that was to be raced did take place.
        #expect(previews > 0 && sources.isSuperset(of: [.memory, .result, .file(.network)]), "\(previews), \(sources)")
    }
}

/// The calls of one load, and whether they are those that it may make.
private final class LoadRecord: Sendable {
    private struct State: Sendable {
        var sources: [ImageResponse.Source] = []
        var failures = 0
        var previews = 0
        var outcomes: [ScopedOperation.Outcome] = []
        var isSilent = false
        /// Calls behind a cancel, the result or the end.
        var late: [String] = []

        mutating func note(_ call: String) {
            if isSilent || !sources.isEmpty || failures > 0 || !outcomes.isEmpty { late.append(call) }
        }
    }

    private let state = Lock(State())

    var sources: [ImageResponse.Source] { state.withLock { $0.sources } }
    var previews: Int { state.withLock { $0.previews } }

    func succeeded(_ response: ImageResponse) {
        state.withLock { state in
            state.note("success")
            state.sources.append(response.source)
        }
    }

    func failed() {
        state.withLock { state in
            state.note("failure")
            state.failures += 1
        }
    }

    func shown() {
        state.withLock { state in
            state.note("preview")
            state.previews += 1
        }
    }

    func progressed() { state.withLock { $0.note("progress") } }

    func ended(_ outcome: ScopedOperation.Outcome) { state.withLock { $0.outcomes.append(outcome) } }

    /// Makes all that comes from here on late, but for the end, where the cancel has won.
    func cancelled(_ result: Run.CancelResult) { if result == .cancelled { state.withLock { $0.isSilent = true } } }

    var problem: String? {
        let now = state.withLock { $0 }
        guard now.late.isEmpty else { return "too late: \(now.late)" }
        guard now.outcomes.count == 1, let outcome = now.outcomes.first else { return "\(now.outcomes.count) ends" }
        // A success, a failure, or neither: as the end says.
        let isRight =
            switch outcome {
            case .succeeded: now.sources.count == 1 && now.failures == 0
            case .failed: now.sources.isEmpty && now.failures == 1
            case .cancelled: now.sources.isEmpty && now.failures == 0
            }
        return isRight ? nil : "\(outcome) with \(now.sources.count) successes and \(now.failures) failures"
    }
}

/// A loader and its server.
private final class PreviewHammer: Sendable {
    let session: Session
    private let images: ImageLoader
    private let cache: ResponseCache
    private let folder = FileManager.default.temporaryDirectory.appending(path: "scopednet-hammer-\(UInt64.random(in: 0 ... .max))").path

    init() throws {
        let pieces = PiecewiseServer(try Self.picture())
        cache = ResponseCache(StoreConfiguration(directory: folder))
        let transport = MockTransport(unanswered: .wait) { exchange in
            pieces.serve(exchange)
            return nil
        }
        var settings = Session.Configuration(customTransport: transport, agent: RequestAgent())
        settings.baseURL = "http://hammer.test/"
        settings.cache = cache
        session = Session(configuration: settings)
        var configuration = ImageLoader.Configuration()
        configuration.memory = ImageMemoryCache(capacity: 20_000, preferredUsage: 10_000)
        (configuration.transfersAtOnce, configuration.decodesAtOnce) = (3, 2)
        configuration.resultEncoder = PNGEncoder()
        configuration.previewInterval = .zero
        configuration.relievesMemory = false
        images = ImageLoader(session, configuration: configuration)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// A progressive JPEG of 37 × 29 pixels.
    private static func picture() throws -> Data {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        return try Data(contentsOf: tests.appending(path: "ScopedNetImagesTests/Fixtures/Codecs/progressive.jpg"))
    }

    /// The work of one thread in one round: it begins its loads, ends some of them, and disturbs the others.
    func work(_ round: Int, _ thread: Int, _ records: [LoadRecord], _ bag: borrowing Lock<DeallocBag?>) {
        var receipts: [(receipt: ImageReceipt, record: LoadRecord)] = []
        for (step, record) in records.enumerated() {
            let number = round + thread * records.count + step
            let call = call(number, record)
            switch number % 4 {
            case 0: call.start(in: bag.withLock { $0 } ?? DeallocBag())
            case 1: receipts.append((call.start(), record))
            case 2:
                let receipt = call.start()
                receipt.setPriority(.high)
                record.cancelled(receipt.operation.cancel())
            default:
                let ahead = images.prefetch([call.request], to: number % 8 == 3 ? .files : .memory)
                receipts.append((call.start(), record))
                ahead.cancel()
            }
        }
        disturb(round, thread)
        // Some come to their end first, and some before their previews.
        usleep(UInt32((round + thread) % 4) * 1_500)
        for (index, (receipt, record)) in receipts.enumerated() where index % 2 == 0 { record.cancelled(receipt.operation.cancel()) }
        receipts = []
        // The closures of the bag's loads go with it, outside of this lock.
        if thread == 3, round % 3 == 2 { _ = bag.withLock { $0.take() } }
    }

    private func disturb(_ round: Int, _ thread: Int) {
        switch (thread, round % 4) {
        case (0, 0): images.removeAll()
        case (1, 1): images.identity = "account \(round / 8)"
        case (1, 3): cache.removeAll()
        case (2, 2): cache.remove("http://hammer.test/p\(round % 4).jpg")
        case (2, _): images.memory.trim(to: 0)
        default: break
        }
    }

    private func call(_ number: Int, _ record: LoadRecord) -> ImageCall {
        let size = number % 3 == 0 ? nil : PixelSize(16 + number % 2, 16)
        return images.load(ImageRequest("p\(number % 7).jpg", size: size, processors: number % 8 == 0 ? [.circle] : []))
            .onResponse { record.succeeded($0) }
            .onFailure { _ in record.failed() }
            .onPreview { _ in record.shown() }
            .onProgress { _ in record.progressed() }
            .onEnd { record.ended($0) }
    }

    /// Nothing of a round is left: no transfer, no decoding, none who waits, no result that is to be stored.
    func waitUntilIdle() async {
        await eventually(within: .seconds(60)) { [images] in
            let activity = images.activity
            let isBusy = activity.transfers + activity.waitingTransfers + activity.decodings + activity.waitingDecodings > 0
            return !isBusy && images.waiterCount == 0 && images.fileWaiters == 0 && images.arrivedBytes == 0
                && images.unfinishedResults == 0
        }
    }

    func emptyMemory() { images.memory.removeAll() }

    func end() async {
        await session.shutdown()
        await cache.store.close()
    }
}

/// Sends a progressive picture in pieces, with time between them. By the name it may be stored or not, has to be asked for again each time, breaks off, or is
/// not there.
private final class PiecewiseServer: Sendable {
    private let data: Data
    private let queue = DispatchQueue(label: "hammer.server")
    private static let pieces = 6

    init(_ data: Data) { self.data = data }

    func serve(_ exchange: MockExchange) {
        queue.async { [self] in
            switch exchange.path {
            case "/p4.jpg": exchange.respond(.status(404))
            case "/p2.jpg" where exchange.headers[.ifNoneMatch] != nil: exchange.respond(.status(304).header(.eTag, "\"2\""))
            default:
                exchange.receiveHead(headers: fields(exchange.path))
                send(0, to: exchange)
            }
        }
    }

    private func fields(_ path: String) -> HTTPFields {
        let control = ["/p1.jpg": "no-store", "/p2.jpg": "no-cache"][path] ?? "max-age=600"
        let tag = path.filter(\.isNumber)
        return [.contentLength: "\(data.count)", .contentType: "image/jpeg", .cacheControl: control, .eTag: "\"\(tag)\""]
    }

    private func send(_ number: Int, to exchange: MockExchange) {
        guard !exchange.isEnded else { return }
        guard number < Self.pieces else { return exchange.finish() }
        if exchange.path == "/p3.jpg", number == Self.pieces - 1 { return exchange.fail() }
        let size = data.count / Self.pieces + 1
        exchange.receive(Data(data.dropFirst(number * size).prefix(size)))
        queue.asyncAfter(deadline: .now() + .microseconds(300)) { [self] in send(number + 1, to: exchange) }
    }
}
#endif
