import CleanSlate
import Dispatch
import HTTPTypes
import ScopedNet
import ScopedNetEndpoints
import ScopedNetTesting
import SystemSupport
import Testing

/// Queries, polls and logins, used, changed, ended and cancelled by several threads at once.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(10))) struct QueryHammerTests {
    private struct Server: APIService {
        var login: LoginSource?
        var baseURL: String { "http://hammer.test/" }
        var interceptors: [any Interceptor] { login.map { [$0.interceptor { $0.head.status == 401 }] } ?? [] }
    }

    private struct GetNumber: QueryEndpoint {
        typealias Value = Int
        let id: Int
        var path: String { "numbers/\(id)" }
        var tags: Set<QueryTag> { ["numbers"] }
    }

    /// Refused where the number is odd.
    private struct SetNumber: Endpoint {
        typealias Value = Void
        let id: Int
        let number: Int
        var path: String { "numbers/\(id)" }
        var method: HTTPRequest.Method { .put }
    }

    private struct GetSecret: Endpoint {
        typealias Value = String
        var path: String { "secret" }
    }

    private static let rounds = 300

    /// The reports to one observer.
    private final class Record: Sendable {
        private let state = Lock((reports: 0, late: 0, isSilent: false))
        func report() {
            state.withLock { state in
                state.reports += 1
                if state.isSilent { state.late += 1 }
            }
        }
        func fallSilent(_ isCancelled: Bool) { if isCancelled { state.withLock { $0.isSilent = true } } }
        var isRight: Bool { state.withLock { $0.late == 0 } }
    }

    /// Whatever observers, edits, refusals and invalidations there were: the last value is the server's, without edits.
    @Test(.onOwnThread) func queries() async {
        let numbers = Lock([0, 0])
        let session = MockTransport.session("http://hammer.test/")
        session.mock.stub(GetNumber.self) { endpoint in .json("\(numbers.withLock { $0[endpoint.id] })") }
        session.mock.stub(SetNumber.self) { endpoint in
            guard endpoint.number % 2 == 0 else { return .status(409) }
            numbers.withLock { $0[endpoint.id] = endpoint.number }
            return .status(204)
        }
        let client = APIClient(Server(), session: session)
        for round in 0..<Self.rounds {
            let (record, bag) = (Record(), DeallocBag())
            let ends = Lock<[Task<Void, Never>]>([])
            DispatchQueue.concurrentPerform(iterations: 4) { thread in
                switch thread {
                case 0:
                    let observation = client.observe(GetNumber(id: round % 2)).onChange { _ in record.report() }
                    let operation = observation.start(in: bag)
                    if round % 3 == 0 { record.fallSilent(operation?.cancel() == .cancelled) }
                    if round % 3 == 1 { record.fallSilent(bag.end().cancelled == 1) }
                case 1: for id in 0...1 { client.observe(GetNumber(id: id)).onChange { _ in }.start(in: bag) }
                case 2:
                    let task = Task {
                        _ = try? await client.mutate(SetNumber(id: round % 2, number: round), invalidating: ["numbers"]) { edits in
                            edits.edit(GetNumber(id: round % 2)) { $0 = -round }
                        }
                    }
                    ends.withLock { $0.append(task) }
                default:
                    client.invalidate(tags: ["numbers"])
                    if round % 5 == 0 { client.setQueryValue(7, of: GetNumber(id: 0)) }
                }
            }
            for task in ends.withLock({ $0 }) { await task.value }
            bag.end()
            await session.agent.waitUntilIdle()
            #expect(record.isRight)
        }
        for id in 0...1 {
            let bag = DeallocBag()
            client.invalidate(GetNumber(id: id))
            var last: QueryState<Int, NetworkError>?
            for await state in client.observe(GetNumber(id: id)).states(in: bag) {
                last = state
                if !state.isFetching, state.value == numbers.withLock({ $0[id] }) { break }
            }
            #expect(last?.isEdited == false && last?.error == nil)
        }
        await session.agent.waitUntilIdle()
        await session.shutdown()
    }

    /// A poll that several threads cancel, and whose bag ends meanwhile, says nothing afterwards, and ends once.
    @Test(.onOwnThread) func polls() async {
        let session = MockTransport.session("http://hammer.test/")
        session.mock.stub(GetSecret.self) { _ in .ok("secret") }
        let client = APIClient(Server(), session: session)
        for round in 0..<Self.rounds {
            let (record, bag) = (Record(), DeallocBag())
            let ends = Lock(0)
            let poll = client.poll(GetSecret(), PollSchedule(every: .microseconds(50))).onValue { _ in record.report() }
                .onEnd { _ in ends.withLock { $0 += 1 } }
            let starts = Lock(0)
            DispatchQueue.concurrentPerform(iterations: 4) { thread in
                switch thread {
                case 0: if round % 2 == 0 { bag.end() }
                default:
                    // One of them starts it.
                    guard let operation = poll.start(in: bag) else { return }
                    starts.withLock { $0 += 1 }
                    if round % 3 == 0 { record.fallSilent(operation.cancel() == .cancelled) }
                }
            }
            bag.end()
            await session.agent.waitUntilIdle()
            let (started, ended) = (starts.withLock { $0 }, ends.withLock { $0 })
            #expect(started == 1 && ended == 1 && record.isRight)
        }
        await session.shutdown()
    }

    /// Two logins never overlap, and each call ends once: with the secret, with the login's error, or cancelled.
    @Test(.onOwnThread) func logins() async {
        let state = Lock((isOpen: false, underWay: 0, overlaps: 0, logins: 0))
        let login = LoginSource {
            let number = state.withLock { state in
                state.underWay += 1
                if state.underWay > 1 { state.overlaps += 1 }
                state.logins += 1
                return state.logins
            }
            await Task.yield()
            // Each third one is refused.
            let isRefused = number % 3 == 0
            state.withLock { state in
                state.underWay -= 1
                if !isRefused { state.isOpen = true }
            }
            if isRefused { throw LoginSource.Cancelled() }
        }
        let session = MockTransport.session("http://hammer.test/")
        session.mock.stub(GetSecret.self) { _ in state.withLock { $0.isOpen } ? .ok("secret") : .status(401) }
        let client = APIClient(Server(login: login), session: session)
        for round in 0..<Self.rounds {
            let bag = DeallocBag()
            let results = Lock(0)
            let ends = Lock(0)
            DispatchQueue.concurrentPerform(iterations: 4) { thread in
                switch thread {
                case 0: state.withLock { $0.isOpen = false }
                case 3:
                    if round % 4 == 0 { bag.end() }
                    if round % 4 == 1 { login.cancel() }
                default:
                    for _ in 0..<3 {
                        client.call(GetSecret()).onResult { _ in results.withLock { $0 += 1 } }.onEnd { _ in ends.withLock { $0 += 1 } }
                            .start(in: bag)
                    }
                }
            }
            await session.agent.waitUntilIdle()
            let (told, ended) = (results.withLock { $0 }, ends.withLock { $0 })
            #expect(ended == 6 && (told == 6 || round % 4 == 0))
        }
        #expect(state.withLock { $0.overlaps } == 0 && login.waitingCount == 0)
        #expect(state.withLock { $0.logins } > 1)
        await session.shutdown()
    }
}
