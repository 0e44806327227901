import CleanSlate
import Dispatch
import ScopedNet
import ScopedNetEndpoints
import ScopedNetTesting
import SystemSupport
import Testing

/// Batches, chains, pagers and accessories, used, appended to, ended and cancelled by several threads at once: each ends once, reports in its order, and says
/// nothing after a cancel that has answered `.cancelled`.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(10))) struct GroupHammerTests {
    private struct Server: APIService {
        var baseURL: String { "http://hammer.test/" }
    }

    private struct Get: Endpoint {
        typealias Value = String
        let path: String
    }

    private struct Numbers: PagedEndpoint, Encodable {
        typealias Element = Int
        var page = 0
        var path: String { "numbers" }
        var nextPage: NextPage<Self> { .number(\.page) }
    }

    /// The calls of one group.
    private final class Record: Sendable {
        private let state = Lock((reports: [Int](), ends: 0, results: 0, late: 0, isSilent: false))

        func report(_ count: Int) {
            state.withLock { state in
                state.reports.append(count)
                if state.isSilent { state.late += 1 }
            }
        }
        func result() {
            state.withLock { state in
                state.results += 1
                if state.isSilent { state.late += 1 }
            }
        }
        func end() { state.withLock { $0.ends += 1 } }
        func fallSilent(_ isCancelled: Bool) { if isCancelled { state.withLock { $0.isSilent = true } } }

        var isRight: Bool {
            state.withLock { state in
                let isInOrder = state.reports.enumerated().allSatisfy { index, count in count == index + 1 }
                return isInOrder && state.ends == 1 && state.results <= 1 && state.late == 0
            }
        }
        var text: String { state.withLock { "\($0)" } }
    }

    private static let rounds = 400

    private func client() -> APIClient<Server> {
        let session = MockTransport.session("http://hammer.test/")
        session.mock.on("a", .ok("a"))
        session.mock.on("b", .status(404))
        session.mock.on("numbers?page=0", .json("[1,2]"))
        session.mock.on("numbers?page=1", .json("[3]"))
        session.mock.on("numbers?page=2", .json("[]"))
        return APIClient(Server(), session: session)
    }

    @Test(.onOwnThread) func batches() async {
        let client = client()
        for round in 0..<Self.rounds {
            let (record, bag) = (Record(), DeallocBag())
            let endpoints = (0..<4).map { Get(path: round % 5 == 4 && $0 == 2 ? "b" : "a") }
            let batch = client.batch(of: endpoints, atMost: 1 + round % 4)
                .onProgress { record.report($0.ended) }.onSuccess { _ in record.result() }
                .onFailure { _ in record.result() }.onEnd { _ in record.end() }
            let starts = Lock<[ScopedOperation]>([])
            DispatchQueue.concurrentPerform(iterations: 3) { thread in
                switch thread {
                // One of two starts counts.
                case 0, 1: if let operation = batch.start(in: bag) { starts.withLock { $0.append(operation) } }
                default: if round % 3 == 0 { record.fallSilent(bag.end().cancelled == 1) }
                }
            }
            let operations = starts.withLock { $0 }
            #expect(operations.count == 1)
            if round % 3 == 1, let operation = operations.first { record.fallSilent(operation.cancel() == .cancelled) }
            await client.session.agent.waitUntilIdle()
            #expect(record.isRight, "\(record.text)")
        }
        await client.session.shutdown()
    }

    @Test(.onOwnThread) func chains() async {
        let client = client()
        for round in 0..<Self.rounds {
            let (record, bag) = (Record(), DeallocBag())
            let chain = client.chain().then(Get(path: "a")) { step in step.context.append(Get(path: "a")) }
                .onProgress { record.report($0.ended) }.onSuccess { _ in record.result() }
                .onFailure { _ in record.result() }.onEnd { _ in record.end() }
            let operation = chain.start(in: bag)
            DispatchQueue.concurrentPerform(iterations: 3) { thread in
                switch thread {
                case 0: for _ in 0..<3 { chain.context.append(Get(path: round % 7 == 0 ? "b" : "a")) }
                case 1: chain.then { context in context[Get.self].map { Get(path: $0) } }
                default:
                    switch round % 3 {
                    case 0: record.fallSilent(operation?.cancel() == .cancelled)
                    case 1: record.fallSilent(bag.end().cancelled == 1)
                    default: break
                    }
                }
            }
            await client.session.agent.waitUntilIdle()
            #expect(record.isRight, "\(record.text)")
        }
        await client.session.shutdown()
    }

    @Test(.onOwnThread) func pagers() async {
        let client = client()
        for round in 0..<Self.rounds {
            let bag = DeallocBag()
            let pager = client.pager(of: Numbers(), prefetching: round % 2 == 0, in: bag)
            await withTaskGroup(of: Void.self) { group in
                for task in 0..<4 {
                    group.addTask {
                        for _ in 0..<3 { if (try? await pager.next()) == nil { break } }
                        if task == 0, round % 3 == 0 { pager.restart() }
                        if task == 1, round % 5 == 0 { bag.end() }
                    }
                }
                if round % 4 == 0 { group.cancelAll() }
            }
            await client.session.agent.waitUntilIdle()
        }
        await client.session.shutdown()
    }

    @Test(.onOwnThread) func accessories() async {
        let client = client()
        let count = Lock((begun: 0, ended: 0))
        let accessory = Accessory(
            Callback { event in
                count.withLock { count in
                    switch event {
                    case .willStart: count.begun += 1
                    case .willStop: break
                    case .didStop: count.ended += 1
                    }
                }
            })
        for round in 0..<Self.rounds {
            let bag = DeallocBag()
            DispatchQueue.concurrentPerform(iterations: 3) { thread in
                switch thread {
                case 0: client.call(Get(path: "a")).accessory(accessory).start(in: bag)
                case 1: client.batch(of: [Get(path: "a")]).accessory(accessory).start(in: bag)
                default: if round % 2 == 0 { bag.end() }
                }
            }
            await client.session.agent.waitUntilIdle()
            let (begun, ended) = count.withLock { ($0.begun, $0.ended) }
            #expect(begun == ended)
        }
        await client.session.shutdown()
    }
}
