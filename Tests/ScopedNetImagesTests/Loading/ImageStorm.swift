import CleanSlate
import FoundationEssentials
import HTTPTypes
import ScopedNet
import ScopedNetTesting
import SystemSupport
import Testing

@testable import ScopedNetImages

/// The random steps of all who use one loader, and of its server, in an order that a seed decides.
///
/// The seed also decides about the loader: its order, its permits, and the fate of transfers that nobody waits for.
struct ImageStorm {
    static let files = 30
    private let seed: Int
    private let session: Session
    private let images: ImageLoader
    private let server = StormServer()
    private let decoder = StormDecoder()
    private var random: SplitMix
    /// A step in so many lets the other tasks go on.
    private let pace: UInt64
    private let transfersAtOnce: Int
    private let decodesAtOnce: Int
    /// The most exchanges at a time; nil with a response cache, where a run has ended for its load before its cancel is at the transport: once in some hundred
    /// storms the next exchange has been seen to come first.
    private let exchangesAtOnce: Int?

    private final class Cell: Sendable {
        let bag = DeallocBag()
    }

    private struct WeakReceipt {
        weak let receipt: ImageReceipt?
    }

    private var receipts: [ImageReceipt] = []
    private var cells: [Cell] = []
    private var operations: [ScopedOperation] = []
    private var tasks: [Task<Void, Never>] = []
    private var prefetches: [ImagePrefetch] = []
    private var tallies: [ImageTally] = []
    private var known: [WeakReceipt] = []

    init(seed: Int, cache: ResponseCache?) {
        self.seed = seed
        random = SplitMix(state: UInt64(seed) &* 0x9E37_79B9 &+ 77)
        pace = [1, 2, 4, 16][seed % 4]
        transfersAtOnce = [4, 1, 3][seed % 3]
        decodesAtOnce = 1 + seed % 2
        exchangesAtOnce = cache == nil ? transfersAtOnce : nil
        var settings = Session.Configuration(
            customTransport: MockTransport(unanswered: .wait) { [server] exchange in
                server.take(exchange)
                return nil
            }, agent: RequestAgent())
        settings.baseURL = "http://images.test/"
        settings.cache = cache
        session = Session(configuration: settings)
        var configuration = ImageLoader.Configuration()
        configuration.relievesMemory = false
        configuration.memory = ImageMemoryCache(capacity: 30_000, preferredUsage: 10_000)
        configuration.decoders.append(decoder)
        configuration.order = seed % 2 == 0 ? .firstInFirstOut : .lastInFirstOut
        configuration.transfersAtOnce = transfersAtOnce
        configuration.decodesAtOnce = decodesAtOnce
        if seed % 3 == 1 { configuration.onLastCancel = .finish(atLeast: 0.5) }
        if seed % 4 == 2 { configuration.missingAge = .milliseconds(5) }
        images = ImageLoader(session, configuration: configuration)
    }

    // MARK: Steps

    /// Takes steps. Records an issue, with the seed, where the server or the decoder has more to do at a time than it may.
    mutating func run(_ steps: Int) async {
        for number in 0..<steps {
            step()
            guard isBounded else {
                Issue.record("seed \(seed), step \(number): \(server.most) transfers and \(decoder.most) decodings at a time")
                return
            }
            if random.next() % pace == 0 { await Task.yield() }
        }
    }

    private var isBounded: Bool {
        let activity = images.activity
        return server.most <= exchangesAtOnce ?? .max && activity.transfers <= transfersAtOnce && decoder.most <= decodesAtOnce
    }

    private mutating func step() {
        switch random.next() % 24 {
        case 0...5: if receipts.count < 200 { begin() } else { receipts.removeFirst(20) }
        case 6, 7: beginInACell()
        case 8: beginInATask()
        case 9: prefetch()
        case 10, 11: receipts.randomElement(using: &random)?.cancel()
        case 12: if let index = receipts.indices.randomElement(using: &random) { receipts.remove(at: index) }
        case 13: endOneOfTheOthers()
        case 14, 15: receipts.randomElement(using: &random)?.setPriority(priority())
        case 16: forget()
        default: server.answer(&random)
        }
    }

    private mutating func priority() -> Priority { Priority.allCases[Int(random.next() % 5)] }

    private mutating func request() -> ImageRequest {
        var request = ImageRequest("\(random.next() % UInt64(Self.files))", priority: priority())
        if random.next() % 3 == 0 { request.size = PixelSize(2, 2) }
        if random.next() % 16 == 0 { request.cache = .revalidate }
        return request
    }

    /// A load with all closures, and its place among those that are judged.
    private mutating func call() -> ImageCall {
        let request = request()
        let tally = ImageTally(request)
        tallies.append(tally)
        let call = images.load(request).onSuccess { tally.succeeded($0) }.onFailure { _ in tally.failed() }.onEnd { tally.ended($0) }
        return random.next() % 4 == 0 ? call.onProgress { _ in tally.heard() }.onPreview { _ in tally.heard() } : call
    }

    private mutating func begin() {
        let receipt = call().start()
        receipts.append(receipt)
        known.append(WeakReceipt(receipt: receipt))
    }

    private mutating func beginInACell() {
        if cells.isEmpty || random.next() % 4 == 0 { cells.append(Cell()) }
        let cell = cells[Int(random.next() % UInt64(cells.count))]
        operations.append(call().start(in: cell.bag))
    }

    private mutating func beginInATask() {
        let (request, images) = (request(), images)
        let tally = ImageTally(request)
        tallies.append(tally)
        tasks.append(
            Task {
                do throws(ImageLoadError) {
                    tally.succeeded(try await images.image(request))
                    tally.ended(.succeeded)
                } catch {
                    if !error.isCancelled { tally.failed() }
                    tally.ended(error.isCancelled ? .cancelled(.explicit) : .failed(error))
                }
            })
    }

    private mutating func prefetch() {
        let requests = (0..<5).map { _ in request() }
        prefetches.append(images.prefetch(requests, to: random.next() % 2 == 0 ? .memory : .files))
    }

    private mutating func endOneOfTheOthers() {
        switch random.next() % 4 {
        case 0: if !cells.isEmpty { cells.remove(at: Int(random.next() % UInt64(cells.count))) }
        case 1: if !prefetches.isEmpty { prefetches.remove(at: Int(random.next() % UInt64(prefetches.count))) }
        case 2: tasks.randomElement(using: &random)?.cancel()
        default: operations.popLast()?.cancel()
        }
    }

    private mutating func forget() {
        switch random.next() % 4 {
        case 0: images.removeAll()
        case 1: images.memory.trim(to: Int(random.next() % 5_000))
        default: images.identity = ["", "ann"][Int(random.next() % 2)]
        }
    }

    // MARK: The end

    /// Answers all that the server is still asked, or shuts the session down, and records an issue, with the seed, for whatever has not ended well.
    mutating func finish() async {
        let isShutDown = seed % 8 == 7
        if isShutDown { await session.shutdown() }
        await drain()
        for task in tasks { await task.value }
        await session.agent.waitUntilIdle()
        for (number, tally) in tallies.enumerated() {
            if let fault = tally.fault { Issue.record("seed \(seed), load \(number): \(fault)") }
        }
        if !isShutDown {
            let outcomes = Set(tallies.compactMap(\.outcome))
            #expect(outcomes.isSuperset(of: ["succeeded", "cancelled"]) && server.count > 0, "seed \(seed)")
        }
        await letGo()
        if !isShutDown { await session.shutdown() }
    }

    private mutating func drain() async {
        let end = ContinuousClock.now + .seconds(60)
        while !isDrained {
            server.answerAll()
            guard ContinuousClock.now < end else {
                let open = tallies.count { $0.outcome == nil }
                Issue.record(
                    "seed \(seed): \(open) of \(tallies.count) loads have not ended; \(images.activity), \(server.openCount) open exchanges"
                )
                return
            }
            try? await Task.sleep(for: .milliseconds(1))
        }
        #expect(isBounded, "seed \(seed): \(server.most) transfers and \(decoder.most) decodings at a time")
    }

    private var isDrained: Bool {
        images.activity == ImageLoader.Activity(transfers: 0, waitingTransfers: 0, decodings: 0, waitingDecodings: 0)
            && images.waiterCount == 0 && images.fileWaiters == 0 && images.arrivedBytes == 0
            && tallies.allSatisfy { $0.outcome != nil } && prefetches.allSatisfy { $0.remaining == 0 }
    }

    /// Receipts and pictures go with those who have them, while the loader lives on.
    private mutating func letGo() async {
        (receipts, cells, operations, tasks, prefetches) = ([], [], [], [], [])
        images.removeAll()
        let (known, decoder, images) = (known, decoder, images)
        await eventually(within: .seconds(60)) { known.allSatisfy { $0.receipt == nil } && decoder.liveCount == 0 }
        #expect(images.memory.usage == 0 && known.allSatisfy { $0.receipt == nil } && decoder.liveCount == 0, "seed \(seed)")
    }
}

/// The calls of one load.
final class ImageTally: Sendable {
    private struct Calls {
        var successes = 0
        var failures = 0
        var outcomes: [String] = []
        var isLate = false
        var isWrong = false
    }

    private let request: ImageRequest
    private let calls = Lock(Calls())

    init(_ request: ImageRequest) { self.request = request }

    func succeeded(_ image: DecodedImage) {
        let isRight = "\(ImageLoading.red(image))" == request.url && (request.size == nil || image.width <= 2)
        note { calls in
            calls.successes += 1
            if !isRight { calls.isWrong = true }
        }
    }

    func failed() { note { $0.failures += 1 } }
    func heard() { note { _ in } }

    func ended(_ outcome: ScopedOperation.Outcome) {
        let name =
            switch outcome {
            case .succeeded: "succeeded"
            case .failed: "failed"
            case .cancelled: "cancelled"
            }
        calls.withLock { $0.outcomes.append(name) }
    }

    private func note(_ change: (inout Calls) -> Void) {
        calls.withLock { calls in
            if !calls.outcomes.isEmpty { calls.isLate = true }
            change(&calls)
        }
    }

    /// Nil until it has ended.
    var outcome: String? { calls.withLock { $0.outcomes.first } }

    /// The rule that was broken: one end, with a success, a failure or neither before it, and nothing behind it.
    var fault: String? {
        let calls = calls.withLock { $0 }
        let expected = ["succeeded": (1, 0), "failed": (0, 1), "cancelled": (0, 0)][calls.outcomes.first ?? ""]
        let isRight = calls.outcomes.count == 1 && expected.map { $0 == (calls.successes, calls.failures) } == true
        return isRight && !calls.isLate && !calls.isWrong ? nil : "\(calls) of \(request.url)"
    }
}
