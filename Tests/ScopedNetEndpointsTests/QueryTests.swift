import CleanSlate
import ScopedNet
import ScopedNetTesting
import Synchronization
import Testing

@testable import ScopedNetEndpoints

/// Values that are shared by all who look at them.
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct QueryTests {
    private struct Server: APIService {
        var baseURL: String { "http://api.test/" }
    }

    private struct Item: QueryEndpoint {
        typealias Value = String
        let id: Int
        var staleTime = Duration.zero
        var cacheTime = Duration.seconds(300)
        var path: String { "item/\(id)" }
        var tags: Set<QueryTag> { ["items"] }
    }

    private struct Rename: Endpoint {
        typealias Value = String
        let path = "rename"
        let method = HTTPRequest.Method.post
    }

    /// Waits for what is published on other threads.
    private func until(_ condition: () -> Bool) async { while !condition() { await Task.yield() } }

    private func look(
        _ client: APIClient<Server>, _ item: Item, _ log: CallLog, in bag: DeallocBag? = nil
    ) -> ScopedOperation? {
        client.observe(item).onChange { state in
            log.add(
                "\(state.value ?? "-")\(state.error.map { " \($0.code)" } ?? "")\(state.isFetching ? " …" : "")\(state.isEdited ? " *" : "")"
            )
        }.start(in: bag)
    }

    @Test func allWhoLookShareOneRequest() async throws {
        let client = APIClient(Server(), session: MockTransport.session("http://api.test/", unanswered: .wait))
        let (one, two, bag) = (CallLog(), CallLog(), DeallocBag())
        _ = look(client, Item(id: 1), one, in: bag)
        _ = look(client, Item(id: 1), two, in: bag)
        await client.session.mock.exchange(0).respond(.ok("first"))
        await until { one.all.last == "first" && two.all.last == "first" }
        #expect(client.session.mock.exchanges.count == 1 && one.all.first == "- …")
        #expect(client.queryValue(of: Item(id: 1)) == "first" && client.queryValue(of: Item(id: 2)) == nil)
        // An invalidation is one request, and they go on to show what they have.
        client.invalidate(tags: ["items"])
        await until { one.all.last == "first …" && two.all.last == "first …" }
        client.invalidate(tags: ["others"])
        let second = await client.session.mock.exchange(1)
        // Meanwhile it is invalidated again: one request more, behind this one.
        client.invalidate(Item(id: 1))
        client.invalidate(Item(id: 1))
        second.respond(.ok("second"))
        await client.session.mock.exchange(2).respond(.ok("third"))
        await until { one.all.last == "third" && two.all.last == "third" }
        #expect(client.session.mock.exchanges.count == 3 && one.all.contains("second …"))
        bag.end()
        await client.session.agent.waitUntilIdle()
        let count = one.all.count
        client.invalidate(Item(id: 1))
        #expect(one.all.count == count && client.session.mock.exchanges.count == 3)
        await client.session.shutdown()
    }

    @Test func aFreshValueIsNotAskedForAndASpentOneIsGone() async throws {
        let clock = ManualClock()
        let client = APIClient(Server(), session: MockTransport.session("http://api.test/") { $0.use(clock) })
        let item = Item(id: 1, staleTime: .seconds(10), cacheTime: .seconds(60))
        client.session.mock.on("item/1", [.ok("a"), .ok("b"), .ok("c")])
        client.session.mock.on("item/2", .ok("other"))
        let log = CallLog()
        let first = look(client, item, log)
        await until { log.all.last == "a" }
        first?.cancel()
        // Fresh: no request.
        let again = CallLog()
        let second = look(client, item, again)
        await until { again.all == ["a"] }
        clock.advance(by: .seconds(11))
        // Stale: it shows what there is, and asks.
        let stale = CallLog()
        let third = look(client, item, stale)
        await until { stale.all.last == "b" && again.all.last == "b" }
        #expect(stale.all.first == "a …")
        second?.cancel()
        third?.cancel()
        await client.session.agent.waitUntilIdle()
        clock.advance(by: .seconds(61))
        look(client, Item(id: 2), CallLog())?.cancel()
        #expect(client.queryValue(of: item) == nil && client.queries.count == 1)
        await client.session.agent.waitUntilIdle()
        await client.session.shutdown()
    }

    @Test func anErrorIsToldBesideTheValue() async throws {
        let client = APIClient(Server(), session: MockTransport.session("http://api.test/"))
        client.session.mock.on("item/1", [.ok("a"), .status(500), .ok("b")])
        let log = CallLog()
        let operation = look(client, Item(id: 1), log)
        await until { log.all.last == "a" }
        client.invalidate(Item(id: 1))
        await until { log.all.last == "a unacceptableStatus" }
        client.invalidate(Item(id: 1))
        await until { log.all.last == "b" }
        operation?.cancel()
        await client.session.agent.waitUntilIdle()
        await client.session.shutdown()
    }

    @Test func theLastWhoLeavesTakesTheRequestAlong() async throws {
        let client = APIClient(Server(), session: MockTransport.session("http://api.test/", unanswered: .wait))
        let bag = DeallocBag()
        let other = look(client, Item(id: 1), CallLog())
        _ = look(client, Item(id: 1), CallLog(), in: bag)
        let exchange = await client.session.mock.exchange(0)
        bag.end()
        #expect(!exchange.isCancelled)
        other?.cancel()
        await until { exchange.isCancelled }
        await client.session.agent.waitUntilIdle()
        // In an ended bag nobody looks.
        _ = look(client, Item(id: 2), CallLog(), in: bag)
        await client.session.agent.waitUntilIdle()
        #expect(client.session.mock.exchanges.allSatisfy { $0.isCancelled || $0.isEnded })
        await client.session.shutdown()
    }

    @Test(arguments: [true, false]) func anEditIsShownAtOnceAndTakenBackWhereItFails(succeeds: Bool) async throws {
        let client = APIClient(Server(), session: MockTransport.session("http://api.test/", unanswered: .wait))
        let (log, other) = (CallLog(), CallLog())
        let operation = look(client, Item(id: 1), log)
        let second = look(client, Item(id: 1), other)
        await client.session.mock.exchange(0).respond(.ok("old"))
        await until { log.all.last == "old" && other.all.last == "old" }
        let mutation = Task {
            try await client.mutate(Rename(), invalidating: ["items"]) { edits in edits.edit(Item(id: 1)) { $0 += " + edit" } }
        }
        await until { log.all.last == "old + edit *" }
        let rename = await client.session.mock.exchange(1)
        // Another change comes meanwhile: the edit is on top of it.
        client.setQueryValue("new", of: Item(id: 1))
        await until { log.all.last == "new + edit *" }
        if succeeds {
            rename.respond(.ok("done"))
            #expect(try await mutation.value == "done")
            await until { log.all.last == "new + edit …" }
            await client.session.mock.exchange(2).respond(.ok("from the server"))
            await until { log.all.last == "from the server" && other.all.last == "from the server" }
        } else {
            rename.fail()
            await #expect(throws: NetworkError.self) { try await mutation.value }
            await until { log.all.last == "new" && other.all.last == "new" }
        }
        operation?.cancel()
        second?.cancel()
        await client.session.agent.waitUntilIdle()
        // The value, the change, and after a success the value once more for both.
        #expect(client.session.mock.exchanges.map(\.path) == ["/item/1", "/rename"] + (succeeds ? ["/item/1"] : []))
        await client.session.shutdown()
    }

    @Test func whenTheNetworkIsBackItIsAskedAgain() async throws {
        let network = ManualConnectivity()
        let client = APIClient(Server(), session: MockTransport.session("http://api.test/") { $0.connectivity = network.connectivity })
        client.session.mock.on("item/1", [.ok("a"), .ok("b")])
        let log = CallLog()
        let operation = look(client, Item(id: 1), log)
        await until { log.all.last == "a" && network.watcherCount == 1 }
        network.change()
        await until { log.all.last == "b" }
        operation?.cancel()
        await client.session.agent.waitUntilIdle()
        #expect(network.watcherCount == 0)
        await client.session.shutdown()
    }

    @Test func statesAreASequence() async throws {
        let client = APIClient(Server(), session: MockTransport.session("http://api.test/"))
        client.session.mock.on("item/1", .ok("a"))
        let bag = DeallocBag()
        var last = ""
        for await state in client.observe(Item(id: 1)).states(in: bag) {
            last = state.value ?? ""
            // It ends with its bag.
            if last == "a", !state.isFetching { bag.end() }
        }
        #expect(last == "a")
        for await state in client.observe(Item(id: 1)).states() where state.value == "a" { break }
        await client.session.agent.waitUntilIdle()
        await client.session.shutdown()
    }

    @MainActor private final class Model: RequestOwner {
        nonisolated let deallocBag = DeallocBag()
        var text = ""
    }

    @MainActor @Test func anOwnerIsHandedEachState() async throws {
        let client = APIClient(Server(), session: MockTransport.session("http://api.test/"))
        client.session.mock.on("item/1", .ok("a"))
        var model: Model? = Model()
        weak let gone = model
        if let model {
            client.observe(Item(id: 1)).onChange(for: model) { model, state in model.text = state.value ?? "" }.start(in: model.deallocBag)
            while model.text != "a" { await Task.yield() }
        }
        model = nil
        #expect(gone == nil)
        await client.session.agent.waitUntilIdle()
        await client.session.shutdown()
    }
}
