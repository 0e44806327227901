import CleanSlate
import ScopedNet
import ScopedNetEndpoints
import ScopedNetTesting
import Synchronization
import Testing

/// Calls one after the other, with one end (YTK-18, defects 36, 59).
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct ChainTests {
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

    private func client(_ unanswered: MockTransport.Unanswered = .fail) -> APIClient<Server> {
        APIClient(Server(), session: MockTransport.session("http://elsewhere.test/", unanswered: unanswered))
    }

    private func log(_ chain: Chain<Server>, _ log: CallLog) -> Chain<Server> {
        chain.onProgress { log.add("\($0.ended) of \($0.total)") }
            .onSuccess { context in log.add("done: \(context.completedSteps.joined(separator: " "))") }
            .onFailure { log.add("\($0.name) \($0.index): \($0.error.code)") }
            .onEnd { log.add("\($0)".prefix { $0 != "(" }.description) }
    }

    @Test func eachStepIsMadeOfTheOnesBefore() async throws {
        let (client, lines) = (client(), CallLog())
        client.session.mock.on("http://api.test/size", .json("7"))
        client.session.mock.on("http://api.test/item/7", .ok("seven"))
        let chain = log(client.chain(), lines)
            .then(Size(path: "size"))
            .then(name: "item") { context in context[Size.self].map { Get(path: "item/\($0)") } }
            // Not wanted: there is no such value.
            .then { context in context[Get.self] == "eight" ? Size(path: "never") : nil }
        let operation = try #require(chain.start())
        #expect(chain.start() == nil)
        _ = await operation.outcome()
        #expect(lines.all == ["1 of 3", "2 of 3", "3 of 3", "done: Size item", "succeeded"])
        #expect(chain.context[Get.self] == "seven" && chain.context[Size.self] == 7)
        // Behind the end nothing is appended.
        #expect(!chain.context.append(Get(path: "late")))
        await client.session.shutdown()
    }

    @Test func aClosureMayAppendAndIsCalledBeforeTheNextStep() async throws {
        let (client, lines) = (client(), CallLog())
        for name in ["a", "b", "c"] { client.session.mock.on("http://api.test/\(name)", .ok(name)) }
        let chain = log(client.chain(), lines)
            .then(Get(path: "a")) { step in
                lines.add("a is \(step.value)")
                step.context.append(Get(path: "c"), name: "third")
            }
            .then(Get(path: "b"), name: "second") { step in lines.add("b is \(step.value), behind \(step.context.completedSteps)") }
        _ = await chain.start()?.outcome()
        #expect(
            lines.all == [
                "a is a", "1 of 3", #"b is b, behind ["Get", "second"]"#, "2 of 3", "3 of 3", "done: Get second third", "succeeded",
            ])
        await client.session.shutdown()
    }

    @Test func aFailureNamesItsStepAndDropsTheRest() async throws {
        let (client, lines) = (client(), CallLog())
        client.session.mock.on("http://api.test/a", .ok("a"))
        client.session.mock.on("http://api.test/b", .status(500))
        let chain = log(client.chain(), lines).then(Get(path: "a")).then(Get(path: "b"), name: "second").then(Get(path: "c"))
        _ = await chain.start()?.outcome()
        #expect(lines.all == ["1 of 3", "2 of 3", "second 1: unacceptableStatus", "failed"])
        #expect(!client.session.mock.exchanges.contains { $0.path == "/c" })
        await client.session.shutdown()
    }

    @Test func anEmptyOneSucceeds() async {
        let (client, lines) = (client(), CallLog())
        _ = await log(client.chain(), lines).start()?.outcome()
        #expect(lines.all == ["done: ", "succeeded"])
        await client.session.shutdown()
    }

    /// YTK: a stop inside of a step's closure reported "finished".
    @Test func aCancelInsideOfAClosureIsSilent() async throws {
        let (client, lines) = (client(), CallLog())
        client.session.mock.on("http://api.test/a", .ok("a"))
        let operation = Mutex<ScopedOperation?>(nil)
        let chain = log(client.chain(), lines)
            .then(Get(path: "a")) { _ in
                lines.add("a")
                operation.withLock { $0 }?.cancel()
            }
            .then(Get(path: "b"))
        // The closure waits until its operation is known.
        operation.withLock { operation in operation = chain.start() }
        await client.session.agent.waitUntilIdle()
        #expect(lines.all == ["a", "cancelled"])
        operation.withLock { $0 = nil }
        await client.session.shutdown()
    }

    /// Defect 36: agent and bag know it from its start on.
    @Test(arguments: [false, true]) func itsBagEndsItInSilence(isCancelled: Bool) async throws {
        let (client, lines, bag) = (client(.wait), CallLog(), DeallocBag())
        let chain = log(client.chain(), lines).then(Get(path: "a")).then(Get(path: "b"))
        #expect(client.session.agent.liveCount == 0 && bag.count == 0)
        let operation = try #require(chain.start(in: bag))
        #expect(client.session.agent.liveCount > 0 && bag.count == 1)
        await client.session.mock.waitForExchanges(1)
        if isCancelled { operation.cancel() } else { bag.end() }
        await client.session.agent.waitUntilIdle()
        #expect(lines.all == ["cancelled"] && client.session.mock.exchanges.count == 1 && bag.count == 0)
        #expect(client.session.mock.exchanges[0].isCancelled && !chain.context.append(Get(path: "c")))
        await client.session.shutdown()
    }

    @Test func cancelledAtAnyMomentItEndsOnce() async throws {
        let client = client()
        client.session.mock.on("http://api.test/a", .ok("one"))
        for round in 0..<300 {
            let (lines, bag) = (CallLog(), DeallocBag())
            let chain = log(client.chain(), lines).then(Get(path: "a")) { step in step.context.append(Get(path: "a")) }.then(Get(path: "a"))
            let operation = try #require(chain.start(in: bag))
            for _ in 0..<(round % 30) { await Task.yield() }
            chain.context.append(Get(path: "a"))
            if round.isMultiple(of: 2) { operation.cancel() } else { bag.end() }
            await client.session.agent.waitUntilIdle()
            #expect(lines.all.count { ["succeeded", "cancelled"].contains($0) } == 1, "\(lines.all)")
        }
        await client.session.shutdown()
    }

    /// Called on the main actor, where it was set.
    @MainActor private final class Listener: @MainActor CallGroupDelegate {
        var lines: [String] = []
        func group(_ group: ScopedOperation, didProgress progress: GroupProgress) { lines.append("\(progress.ended) of \(progress.total)") }
        func group(_ group: ScopedOperation, didSucceedWith value: any Sendable) {
            lines.append("\(group.tag ?? ""): \((value as? [String])?.description ?? "\(type(of: value))")")
        }
        func group(_ group: ScopedOperation, didFailWith error: any Error, at name: String) {
            lines.append("\(name): \((error as? NetworkError).map { "\($0.code)" } ?? "")")
        }
    }

    @MainActor @Test func aDelegateHearsOfChainsAndBatches() async throws {
        let client = client()
        client.session.mock.on("http://api.test/a", .ok("a"))
        client.session.mock.on("http://api.test/b", .status(404))
        let listener = Listener()
        _ = await client.batch(of: [Get(path: "a")]).delegate(listener).start(tag: "batch")?.outcome()
        _ = await client.chain().then(Get(path: "a")).delegate(listener).start(tag: "chain")?.outcome()
        // Beside a closure it is told first.
        let seen = Mutex(0)
        _ = await client.batch(of: [Get(path: "a")]).delegate(listener).onSuccess { _ in seen.withLock { $0 += 1 } }.start()?.outcome()
        _ = await client.chain().then(Get(path: "b")).delegate(listener).start()?.outcome()
        #expect(seen.withLock { $0 } == 1)
        #expect(
            listener.lines == [
                "1 of 1", #"batch: ["a"]"#, "1 of 1", "chain: ChainContext<Server>", "1 of 1", #": ["a"]"#, "1 of 1",
                "Get: unacceptableStatus",
            ])
        // Held weakly: it may go before the end.
        var brief: Listener? = Listener()
        let batch = client.batch(of: [Get(path: "a")])
        if let brief { batch.delegate(brief) }
        weak let gone = brief
        brief = nil
        #expect(gone == nil)
        _ = await batch.start()?.outcome()
        await client.session.shutdown()
    }
}
