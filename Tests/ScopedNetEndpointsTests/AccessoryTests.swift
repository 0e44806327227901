import CleanSlate
import Foundation
import Persistence
import ScopedNet
import ScopedNetEndpoints
import ScopedNetTesting
import Testing

/// The begin and the end of calls, batches and chains, told to accessories (YTK-10, CT-3, defect 57).
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct AccessoryTests {
    private struct Server: APIService {
        var accessories: [Accessory] = []
        var baseURL: String { "http://api.test/" }
    }

    private struct Get: Endpoint {
        typealias Value = String
        let path: String
        func configure(_ options: inout RequestOptions) { options.repeats.strategy = .cancelNewest }
    }

    private func client(_ accessories: [Accessory] = [], _ unanswered: MockTransport.Unanswered = .fail) -> APIClient<Server> {
        let session = MockTransport.session("http://elsewhere.test/", unanswered: unanswered)
        session.mock.on("http://api.test/a", .ok("a").header(.cacheControl, "max-age=60"))
        session.mock.on("http://api.test/b", .status(404))
        return APIClient(Server(accessories: accessories), session: session)
    }

    private func accessory(_ log: CallLog) -> Accessory { Accessory(Callback { log.add("\($0)") }) }

    @Test func aCallIsAnnouncedAndEnds() async throws {
        let (client, lines) = (client(), CallLog())
        for path in ["a", "b"] {
            client.call(Get(path: path)).accessory(accessory(lines))
                .onSuccess { lines.add($0) }.onFailure { lines.add("\($0.code)") }.onEnd { _ in lines.add("end") }
                .start()
            await client.session.agent.waitUntilIdle()
        }
        #expect(
            lines.all.filter { $0 != "end" }
                == ["willStart", "willStop", "a", "didStop", "willStart", "willStop", "unacceptableStatus", "didStop"])
        await client.session.shutdown()
    }

    @Test func batchesAndChainsAreHeardOfAsAWhole() async throws {
        let lines = CallLog()
        let client = client([accessory(lines)])
        _ = await client.batch(of: ["a", "a"].map { Get(path: $0) }).onSuccess { _ in lines.add("batch") }.start()?.outcome()
        await client.session.agent.waitUntilIdle()
        _ = await client.chain().then(Get(path: "a")).then(Get(path: "a")).onSuccess { _ in lines.add("chain") }.start()?.outcome()
        await client.session.agent.waitUntilIdle()
        _ = try await client.send(Get(path: "a"))
        await client.session.agent.waitUntilIdle()
        #expect(
            lines.all == [
                "willStart", "willStop", "batch", "didStop", "willStart", "willStop", "chain", "didStop", "willStart", "willStop",
                "didStop",
            ])
        await client.session.shutdown()
    }

    /// YTK: answers of the cache were passed over.
    @Test func anAnswerOfTheCacheIsHeardOfToo() async throws {
        let lines = CallLog()
        let folder = "/tmp/scopednet-accessories-\(UInt64.random(in: 0...UInt64.max))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let cache = ResponseCache(StoreConfiguration(directory: folder))
        let session = MockTransport.session { $0.cache = cache }
        session.mock.on("http://api.test/a", .ok("a").header(.cacheControl, "max-age=60"))
        let client = APIClient(Server(), session: session)
        for _ in 0..<2 {
            client.call(Get(path: "a")).accessory(accessory(lines)).start()
            await session.agent.waitUntilIdle()
        }
        #expect(lines.all == ["willStart", "willStop", "didStop", "willStart", "willStop", "didStop"])
        #expect(session.mock.exchanges.count == 1)
        await session.shutdown()
    }

    @Test func afterACancelAllIsOver() async throws {
        let (client, lines, bag) = (client([], .wait), CallLog(), DeallocBag())
        client.call(Get(path: "slow")).accessory(accessory(lines)).start(in: bag)
        await client.session.mock.waitForExchanges(1)
        while lines.all.isEmpty { await Task.yield() }
        // Refused: it was announced, and is over.
        let refused = CallLog()
        client.call(Get(path: "slow")).accessory(accessory(refused)).start(in: bag)
        bag.end()
        await client.session.agent.waitUntilIdle()
        #expect(lines.all == ["willStart", "didStop"])
        #expect(refused.all == ["willStart", "didStop"] || refused.all == [])
        await client.session.shutdown()
    }

    /// A second start is none of the accessory's, and a refused one is over.
    @Test func aCallThatIsKeptEndsEachAccessoryOnce() async throws {
        let (client, lines) = (client([], .wait), CallLog())
        let call = client.call(Get(path: "slow")).accessory(accessory(lines))
        call.start()
        call.start()
        await client.session.mock.exchange(0).respond(.ok(""))
        await client.session.agent.waitUntilIdle()
        #expect(lines.all == ["willStart", "willStop", "didStop"])
        client.call(Get(path: "other")).start()
        let refused = CallLog()
        let second = client.call(Get(path: "other")).accessory(accessory(refused))
        let run = second.start()
        await client.session.mock.waitForExchanges(run.wasRefused ? 2 : 3)
        for exchange in client.session.mock.exchanges.dropFirst() { exchange.respond(.ok("")) }
        await client.session.agent.waitUntilIdle()
        #expect(refused.all.first == "willStart" && refused.all.last == "didStop")
        withExtendedLifetime(second) {}
        await client.session.shutdown()
    }

    /// In a task of a bag the call, and who hears of it, belong to that bag.
    @Test func anAwaitIsHeardOfUntilItsBagEnds() async throws {
        let lines = CallLog()
        let client = client([accessory(lines)], .wait)
        let bag = DeallocBag()
        bag.task { _ = try? await client.send(Get(path: "slow")) }
        await client.session.mock.waitForExchanges(1)
        while lines.all.isEmpty { await Task.yield() }
        bag.end()
        await client.session.agent.waitUntilIdle()
        #expect(lines.all == ["willStart", "didStop"])
        await client.session.shutdown()
    }

    @Test func aFlagIsBusyWhileAnyCallIs() async throws {
        let (client, lines) = (client([], .wait), CallLog())
        let busy = Accessory.busy(Callback { isBusy in lines.add("\(isBusy)") })
        for path in ["c", "d"] { client.call(Get(path: path)).accessory(busy).start() }
        let batch = try #require(client.batch(of: [Get(path: "e")]).accessory(busy).start())
        await client.session.mock.waitForExchanges(3)
        while lines.all.isEmpty { await Task.yield() }
        client.session.mock.exchanges[0].respond(.ok(""))
        client.session.mock.exchanges[1].fail()
        batch.cancel()
        client.session.mock.exchanges[2].respond(.ok(""))
        await client.session.agent.waitUntilIdle()
        #expect(lines.all == ["true", "false"])
        await client.session.shutdown()
    }

    /// One that was cancelled before its begin was heard of has no end, either: the flag counts right.
    @Test func beginsAndEndsAreInPairs() async throws {
        let (client, lines) = (client(), CallLog())
        let heard = accessory(lines)
        for round in 0..<300 {
            let bag = DeallocBag()
            client.call(Get(path: "a")).accessory(heard).start(in: bag)
            client.batch(of: [Get(path: "a")]).accessory(heard).start(in: bag)
            for _ in 0..<(round % 20) { await Task.yield() }
            bag.end()
        }
        await client.session.agent.waitUntilIdle()
        let (begins, ends) = (lines.all.count { $0 == "willStart" }, lines.all.count { $0 == "didStop" })
        #expect(begins == ends && begins > 100)
        await client.session.shutdown()
    }
}
