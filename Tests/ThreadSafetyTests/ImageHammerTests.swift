import CleanSlate
import Dispatch
import FoundationEssentials
import ScopedNet
import ScopedNetImages
import ScopedNetTesting
import SystemSupport
import Testing

/// Loads of pictures, begun, made more urgent, cancelled and let go by several threads at once, while memory is emptied and accounts change.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(10))) struct ImageHammerTests {
    private static let rounds = 60

    /// One load and its calls: at most one of success and failure, the end last, once, and nothing but that behind a cancel.
    private final class Record: Sendable {
        private let state = Lock((results: 0, ends: 0, late: 0, isSilent: false))
        func result() {
            state.withLock { state in
                state.results += 1
                if state.isSilent || state.ends > 0 { state.late += 1 }
            }
        }
        func end() { state.withLock { $0.ends += 1 } }
        func fallSilent(_ outcome: Run.CancelResult) { if outcome == .cancelled { state.withLock { $0.isSilent = true } } }
        var isRight: Bool { state.withLock { $0.results <= 1 && $0.ends == 1 && $0.late == 0 } }
    }

    /// A bitmap of one colour.
    private static func bitmap(_ side: Int) -> Data {
        let stride = (side * 3 + 3) / 4 * 4
        func four(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }
        let head = Array("BM".utf8) + four(54 + stride * side) + four(0) + four(54) + four(40) + four(side) + four(side) + [1, 0, 24, 0]
        return Data(head + [UInt8](repeating: 0, count: 24) + [UInt8](repeating: 90, count: stride * side))
    }

    private func call(_ images: ImageLoader, _ number: Int, _ record: Record) -> ImageCall {
        let size = number % 3 == 0 ? nil : PixelSize(8 + number % 2, 8)
        return images.load(ImageRequest("p\(number % 5).bmp", size: size, processors: number % 4 == 0 ? [.circle] : []))
            .onSuccess { _ in record.result() }
            .onFailure { _ in record.result() }
            .onEnd { _ in record.end() }
    }

    @Test(.onOwnThread) func loads() async {
        let session = MockTransport.session("http://hammer.test/")
        for number in 0..<5 {
            var reply = MockReply(body: Self.bitmap(40 + number))
            reply.headers[.cacheControl] = number % 2 == 0 ? "max-age=60" : "no-store"
            session.mock.on("p\(number).bmp", number == 4 ? .status(404) : reply)
        }
        var configuration = ImageLoader.Configuration()
        configuration.memory = ImageMemoryCache(capacity: 60_000, preferredUsage: 20_000)
        (configuration.transfersAtOnce, configuration.decodesAtOnce) = (2, 2)
        configuration.missingAge = .milliseconds(1)
        configuration.relievesMemory = false
        let images = ImageLoader(session, configuration: configuration)
        for round in 0..<Self.rounds {
            let records = (0..<24).map { _ in Record() }
            let bag = Lock<DeallocBag?>(DeallocBag())
            DispatchQueue.concurrentPerform(iterations: 4) { thread in
                for step in 0..<6 { use(images, round + thread * 6 + step, records[thread * 6 + step], bag.withLock { $0 }) }
                switch (thread, round % 3) {
                case (0, 0): images.removeAll()
                case (1, 1): images.identity = "account \(round)"
                case (2, _): images.memory.trim(to: 10_000)
                // The closures of the bag's loads go with it, outside of this lock.
                case (3, 2): _ = bag.withLock { $0.take() }
                default: break
                }
            }
            await session.agent.waitUntilIdle()
            _ = bag.withLock { $0.take() }
            await session.agent.waitUntilIdle()
            let areRight = records.allSatisfy { $0.isRight }
            #expect(areRight, "round \(round)")
            #expect(images.memory.usage <= 60_000)
        }
        await session.shutdown()
    }

    private func use(_ images: ImageLoader, _ number: Int, _ record: Record, _ bag: DeallocBag?) {
        let call = call(images, number, record)
        switch number % 6 {
        case 0: _ = call.start()
        case 1:
            let receipt = call.start()
            receipt.setPriority(.high)
            record.fallSilent(receipt.operation.cancel())
        case 2:
            let ahead = images.prefetch([ImageRequest("p\(number % 5).bmp"), ImageRequest("p1.bmp")], to: .memory)
            call.start(in: bag ?? DeallocBag())
            ahead.cancel()
        case 3:
            let receipt = call.start()
            _ = images.cached(call.request)
            receipt.setPriority(.low)
            withExtendedLifetime(receipt) {}
        default: call.start(in: bag ?? DeallocBag())
        }
    }
}
