import CleanSlate
import ScopedNet
import ScopedNetEndpoints
import ScopedNetTesting
import Synchronization
import Testing

/// Replies to endpoints by their type, without a URL.
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct StubTests {
    private struct Server: APIService {
        var baseURL: String { "http://api.test/" }
    }

    private struct List: Endpoint, Encodable {
        typealias Value = [Int]
        var page = 1
        var path: String { "list" }
    }

    private struct Other: Endpoint {
        typealias Value = String
        let path = "other"
    }

    @Test func anEndpointIsAnsweredByItsType() async throws {
        let client = APIClient(Server(), session: MockTransport.session("http://api.test/"))
        let mock = client.session.mock
        mock.stub(List.self) { list in list.page > 2 ? nil : .json([list.page, 7]) }
        mock.on("other", .ok("by its route"))
        mock.on("list", .json([Int]()))
        #expect(try await client.send(List()) == [1, 7])
        #expect(try await client.send(List(page: 2)) == [2, 7])
        // Nil: as if there were none.
        #expect(try await client.send(List(page: 3)) == [])
        #expect(try await client.send(Other()) == "by its route")
        #expect((mock.exchanges.last?.endpoint as? Other) != nil && (mock.exchanges.first?.endpoint as? List)?.page == 1)
        mock.removeStub(List.self)
        #expect(try await client.send(List()) == [])
        await client.session.shutdown()
    }

    @Test func failuresAndDelaysAreRepliesToo() async throws {
        let clock = ManualClock()
        let client = APIClient(Server(), session: MockTransport.session("http://api.test/") { $0.use(clock) })
        client.session.mock.stub(Other.self) { _ in .failing(.connectionLost) }
        await #expect(throws: NetworkError.self) { try await client.send(Other()) }
        client.session.mock.stub(Other.self) { _ in .ok("late").after(.seconds(5)) }
        let seen = Mutex("")
        client.call(Other()).onSuccess { text in seen.withLock { $0 = text } }.start()
        await clock.waitForTimers(1)
        while clock.fireNext(), seen.withLock({ $0.isEmpty }) { await Task.yield() }
        await client.session.agent.waitUntilIdle()
        #expect(seen.withLock { $0 } == "late")
        await client.session.shutdown()
    }

    @Test(arguments: [
        ("a/b", false), ("http://x/y", true), ("h2+x-1.0://y", true), ("go?to=http://x", false), ("://x", false), ("a:b", false),
    ])
    func anAbsolutePathBeginsWithAScheme(path: String, isAbsolute: Bool) async throws {
        let seen = Mutex<Bool?>(nil)
        let client = APIClient(Watcher(see: { absolute in seen.withLock { $0 = absolute } }), session: MockTransport.session())
        _ = client.request(Place(path: path))
        #expect(seen.withLock { $0 } == isAbsolute)
        await client.session.shutdown()
    }

    private struct Place: Endpoint {
        typealias Value = String
        let path: String
    }

    private struct Watcher: APIService {
        let see: @Sendable (Bool) -> Void
        var baseURL: String { "http://api.test/" }
        func adapt(_ call: inout APICall) throws { see(call.isAbsolute) }
    }
}
