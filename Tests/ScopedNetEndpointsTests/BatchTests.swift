import CleanSlate
import FoundationEssentials
import ScopedNet
import ScopedNetEndpoints
import ScopedNetTesting
import Synchronization
import Testing

/// Several calls with one end (YTK-17, defect 35).
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct BatchTests {
    private struct Server: APIService {
        var baseURL: String { "http://api.test/" }
    }

    private struct Get: Endpoint {
        typealias Value = String
        let path: String
    }

    private struct Size: Endpoint {
        typealias Value = Int
        let path: String
    }

    private final class Log: Sendable {
        private let lines = Mutex<[String]>([])
        func add(_ line: String) { lines.withLock { $0.append(line) } }
        var all: [String] { lines.withLock { $0 } }
    }

    private func client(_ unanswered: MockTransport.Unanswered = .fail) -> APIClient<Server> {
        APIClient(Server(), session: MockTransport.session("http://elsewhere.test/", unanswered: unanswered))
    }

    private func log<Value>(_ batch: Batch<Value, NetworkError>, _ log: Log) -> Batch<Value, NetworkError> {
        batch.onProgress { log.add("\($0.ended) of \($0.total)") }
            .onSuccess { log.add("\($0)") }
            .onFailure { log.add("\($0.name) \($0.index): \($0.error.code)") }
            .onEnd { outcome in
                switch outcome {
                case .succeeded: log.add("succeeded")
                case .failed: log.add("failed")
                case .cancelled(let reason): log.add("cancelled \(reason)")
                }
            }
    }

    @Test func valuesComeInTheOrderOfTheCalls() async throws {
        let (client, lines) = (client(.wait), Log())
        let batch = log(client.batch(of: ["a", "b", "c"].map { Get(path: $0) }, atMost: 2), lines)
        let operation = try #require(batch.start())
        await client.session.mock.waitForExchanges(2)
        #expect(client.session.mock.exchanges.count == 2)
        for number in [1, 0, 2] {
            let exchange = await client.session.mock.exchange(number)
            exchange.respond(.ok(exchange.path))
            // Their order is this one, not that of two tasks.
            while lines.all.count < (number == 1 ? 1 : number == 0 ? 2 : 3) { await Task.yield() }
        }
        _ = await operation.outcome()
        #expect(lines.all == ["1 of 3", "2 of 3", "3 of 3", #"["/a", "/b", "/c"]"#, "succeeded"])
        await client.session.shutdown()
    }

    @Test func callsOfDifferentTypesGiveATuple() async throws {
        let (client, lines) = (client(), Log())
        client.session.mock.on("http://api.test/a", .ok("text"))
        client.session.mock.on("http://api.test/b", .json("7"))
        let operation = try #require(log(client.batch(of: Get(path: "a"), Size(path: "b")), lines).start())
        _ = await operation.outcome()
        #expect(lines.all.suffix(2) == [#"("text", 7)"#, "succeeded"] && lines.all.count == 4)
        await client.session.shutdown()
    }

    @Test func theFirstFailureStopsTheOthers() async throws {
        let (client, lines) = (client(.wait), Log())
        let operation = try #require(log(client.batch(of: ["a", "b"].map { Get(path: $0) }), lines).start())
        await client.session.mock.waitForExchanges(2)
        let (first, second) = (client.session.mock.exchanges[0], client.session.mock.exchanges[1])
        second.fail(.connectionLost)
        _ = await operation.outcome()
        await client.session.agent.waitUntilIdle()
        let index = second.path == "/b" ? 1 : 0
        #expect(lines.all == ["1 of 2", "Get \(index): connectionLost", "failed"] && first.isCancelled)
        await client.session.shutdown()
    }

    @Test func failuresMayBeCollected() async throws {
        let client = client()
        client.session.mock.on("http://api.test/a", .ok("one"))
        client.session.mock.on("http://api.test/b", .status(404))
        let seen = Mutex<[String]>([])
        let operation = client.batchOfResults(of: ["a", "b"].map { Get(path: $0) }).onSuccess { results in
            seen.withLock { seen in
                for result in results {
                    switch result {
                    case .success(let value): seen.append(value)
                    case .failure(let error): seen.append("\(error.code)")
                    }
                }
            }
        }.start()
        _ = await operation?.outcome()
        #expect(seen.withLock { $0 } == ["one", "unacceptableStatus"])
        await client.session.shutdown()
    }

    @Test func failuresOfCallsOfDifferentTypesMayBeCollected() async throws {
        let (client, lines) = (client(), Log())
        client.session.mock.on("http://api.test/a", .status(404))
        client.session.mock.on("http://api.test/b", .json("7"))
        let batch = client.batchOfResults(of: Get(path: "a"), Size(path: "b"), atMost: 1)
            .onProgress { lines.add("\($0.ended) of \($0.total)") }
            .onSuccess { text, size in
                // Their types are those of the calls.
                let (text, size): (Result<String, NetworkError>, Result<Int, NetworkError>) = (text, size)
                if case .failure(let error) = text { lines.add("\(error.code)") }
                lines.add("\((try? size.get()) ?? -1)")
            }
            .onFailure { _ in lines.add("failed") }
        _ = await batch.start()?.outcome()
        #expect(lines.all == ["1 of 2", "2 of 2", "unacceptableStatus", "7"])
        await client.session.shutdown()
    }

    @Test func anEmptyOneCompletesAndASecondStartIsRefused() async throws {
        let (client, lines) = (client(), Log())
        let batch = log(client.batch(of: [Get]()), lines)
        let operation = try #require(batch.start())
        #expect(batch.start() == nil)
        _ = await operation.outcome()
        #expect(lines.all == ["[]", "succeeded"])
        await client.session.shutdown()
    }

    @Test(arguments: [false, true]) func itsBagEndsItInSilence(isCancelled: Bool) async throws {
        let (client, lines, bag) = (client(.wait), Log(), DeallocBag())
        let operation = try #require(log(client.batch(of: ["a", "b"].map { Get(path: $0) }), lines).start(in: bag))
        await client.session.mock.waitForExchanges(2)
        if isCancelled { operation.cancel() } else { bag.end() }
        await client.session.agent.waitUntilIdle()
        #expect(lines.all == ["cancelled \(isCancelled ? CancelReason.explicit : .ownerReleased)"])
        #expect(client.session.mock.exchanges.allSatisfy(\.isCancelled) && bag.count == 0)
        // In an ended bag nothing begins.
        bag.end()
        let late = Log()
        _ = log(client.batch(of: [Get(path: "c")]), late).start(in: bag)
        await client.session.agent.waitUntilIdle()
        #expect(late.all.count == 1 && late.all[0].hasPrefix("cancelled"))
        await client.session.shutdown()
    }

    @MainActor private final class Model: RequestOwner {
        nonisolated let deallocBag = DeallocBag()
        var values: [String] = []
        var fraction = 0.0
    }

    @MainActor @Test func anOwnerIsHandedItsValues() async throws {
        let client = client()
        client.session.mock.on("http://api.test/a", .ok("one"))
        let model = Model()
        let operation = client.batch(of: [Get(path: "a")])
            .onProgress(for: model) { model, progress in model.fraction = progress.fraction }
            .onSuccess(for: model) { model, values in model.values = values }
            .start(in: model.deallocBag)
        _ = await operation?.outcome()
        #expect(model.values == ["one"] && model.fraction == 1)
        await client.session.shutdown()
    }

    @Test func cancelledAtAnyMomentItEndsOnce() async throws {
        let client = client()
        client.session.mock.on("http://api.test/a", .ok("one"))
        for round in 0..<300 {
            let (lines, bag) = (Log(), DeallocBag())
            let operation = try #require(log(client.batch(of: (0..<4).map { _ in Get(path: "a") }, atMost: 2), lines).start(in: bag))
            for _ in 0..<(round % 30) { await Task.yield() }
            if round.isMultiple(of: 2) { operation.cancel() } else { bag.end() }
            let count = lines.all.count
            await client.session.agent.waitUntilIdle()
            let ends = lines.all.count { $0 == "succeeded" || $0.hasPrefix("cancelled") }
            #expect(ends == 1, "\(lines.all)")
            // A call may have been under way; behind a cancel there is that of the end alone.
            #expect(lines.all.count <= count + 2)
        }
        await client.session.shutdown()
    }
}
