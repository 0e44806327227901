import CleanSlate
import Dispatch
import ScopedNet
import ScopedNetTesting
import Synchronization
import Testing

/// The building blocks for layers, as a package sees them that depends on this one: ``ScopedOperation`` and ``Callback``.
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct OperationTests {
    private final class Log: Sendable {
        private let lines = Mutex<[String]>([])
        func add(_ line: String) { lines.withLock { $0.append(line) } }
        var all: [String] { lines.withLock { $0 } }

        func gathering(_ session: Session, _ paths: [String], in bag: DeallocBag? = nil) -> Gathering<String> {
            Gathering(
                paths.map { session.get($0, as: String.self) }, of: session, in: bag, tag: "gathering",
                progress: Callback { [self] in add("\($0)") }, onEnd: Callback { [self] in add("end \($0)") },
                success: Callback { [self] in add($0.joined()) },
                failure: Callback { [self] in add("\(($0 as? NetworkError)?.code, default: "?")") })
        }
    }

    @Test func itEndsOnceWithAllValues() async {
        let session = MockTransport.session("http://layer.test/")
        session.mock.on("a", .ok("A"))
        session.mock.on("b", .ok("B"))
        let log = Log()
        let gathering = log.gathering(session, ["a", "b"])
        guard case .succeeded = await gathering.operation.outcome() else {
            Issue.record("\(log.all)")
            return
        }
        #expect(log.all == ["1", "2", "AB", "end succeeded"])
        #expect(!gathering.operation.isRunning && session.agent.liveCount == 0)
    }

    @Test func itFailsWithTheFirstErrorAndEndsItsOtherSteps() async {
        let session = MockTransport.session("http://layer.test/", unanswered: .wait)
        session.mock.on("a", .status(404))
        let log = Log()
        let gathering = log.gathering(session, ["a", "b"])
        _ = await gathering.operation.outcome()
        await session.agent.waitUntilIdle()
        #expect(log.all.first == "unacceptableStatus" && log.all.count == 2 && log.all.last?.hasPrefix("end failed") == true)
        #expect(gathering.operation.steps.isEnded && session.mock.exchanges.allSatisfy { $0.isEnded || $0.isCancelled })
    }

    @Test func itEndsWithItsBagForItsReason() async {
        let session = MockTransport.session("http://layer.test/", unanswered: .wait)
        let log = Log()
        let page = DeallocBag()
        let gathering = log.gathering(session, ["a", "b"], in: page)
        await session.mock.waitForExchanges(2)
        #expect(page.count == 1 && session.agent.liveCount == 3)
        let summary = page.end()
        #expect(summary.cancelled == 1 && !gathering.operation.isRunning)
        #expect(gathering.operation.cancel() == .alreadyEnded)
        await session.agent.waitUntilIdle()
        #expect(log.all == ["end cancelled(owner released)"])
    }

    @Test func aCancelSilencesItAndItsSteps() async {
        let session = MockTransport.session("http://layer.test/", unanswered: .wait)
        let log = Log()
        let gathering = log.gathering(session, ["a", "b"])
        await session.mock.waitForExchanges(2)
        #expect(gathering.operation.cancel() == .cancelled)
        // Nothing starts any more in there.
        let late = session.get("late").start(in: gathering.operation.steps)
        #expect(late.status.stage == .cancelled)
        await session.agent.waitUntilIdle()
        #expect(log.all == ["end cancelled(explicit)"])
    }

    @Test func itIsFoundByItsTag() async {
        let session = MockTransport.session("http://layer.test/", unanswered: .wait)
        let log = Log()
        let gathering = log.gathering(session, ["a"])
        #expect(session.agent.cancelAll(tag: "other").cancelled == 0 && gathering.operation.isRunning)
        #expect(session.agent.cancelAll(tag: "gathering").cancelled == 1)
        await session.agent.waitUntilIdle()
        #expect(log.all == ["end cancelled(explicit)"])
    }

    @Test func aShutdownEndsIt() async {
        let session = MockTransport.session("http://layer.test/", unanswered: .wait)
        let log = Log()
        let gathering = log.gathering(session, ["a"])
        await session.shutdown()
        #expect(!gathering.operation.isRunning)
        let late = log.gathering(session, [])
        #expect(!late.operation.isRunning)
        await session.agent.waitUntilIdle()
        #expect(log.all == ["end cancelled(shutdown)", "end cancelled(shutdown)"])
    }

    @Test func anEndedBagTakesNone() async {
        let session = MockTransport.session("http://layer.test/")
        let log = Log()
        let page = DeallocBag()
        page.end()
        _ = log.gathering(session, ["a"], in: page)
        await session.agent.waitUntilIdle()
        #expect(log.all == ["end cancelled(owner released)"] && session.mock.exchanges.isEmpty)
    }

    @MainActor private final class Page {
        let bag = DeallocBag()
        var values: [String] = []
        var isWrong = false
    }

    /// The form for owners: they are handed over, and are not kept.
    @MainActor @Test func anOwnerIsHandedOverOnItsActor() async {
        let session = MockTransport.session("http://layer.test/")
        session.mock.on("a", .ok("A"))
        let page = Page()
        let gathering = Gathering(
            [session.get("a", as: String.self)], of: session, in: page.bag,
            success: Callback(for: page) { page, values in page.values = values },
            failure: Callback(for: page) { page, _ in page.isWrong = true })
        _ = await gathering.operation.outcome()
        #expect(page.values == ["A"] && !page.isWrong)
    }

    @MainActor @Test func anOwnerThatGoesHearsNothing() async {
        let session = MockTransport.session("http://layer.test/", unanswered: .wait)
        var page: Page? = Page()
        let log = Log()
        weak let watched = page
        let operation = page.map { page in
            Gathering(
                [session.get("a", as: String.self)], of: session, in: page.bag, onEnd: Callback { log.add("\($0)") },
                success: Callback(for: page) { _, _ in log.add("success") }, failure: Callback(for: page) { _, _ in log.add("failure") }
            ).operation
        }
        await session.mock.waitForExchanges(1)
        page = nil
        #expect(watched == nil && operation?.isRunning == false)
        await session.agent.waitUntilIdle()
        #expect(log.all == ["cancelled(owner released)"])
    }

    /// Calls of one operation follow each other, whatever executors they belong to, and the first end counts.
    @Test func callsOfSeveralExecutorsKeepTheirOrder() async {
        let session = MockTransport.session("http://layer.test/")
        for _ in 0..<50 {
            let (log, keeper) = (Log(), Keeper())
            let operation = ScopedOperation(of: session, onEnd: Callback { log.add("end \($0)") })
            operation.send(1, to: Callback { @MainActor value in log.add("\(value)") })
            operation.send(2, to: Callback { log.add("\($0)") })
            operation.send(3, to: Callback(for: keeper) { keeper, value in log.add("\(value)") })
            let last = Callback<Int> { @MainActor value in log.add("\(value)") }
            operation.finish(with: 4, to: last)
            // Neither of these takes the end away.
            operation.finish(with: 5, to: last)
            operation.finish()
            operation.send(6, to: Callback { log.add("\($0)") })
            _ = await operation.outcome()
            await session.agent.waitUntilIdle()
            #expect(log.all == ["1", "2", "3", "4", "end succeeded"])
        }
    }

    /// The end may come out of a call on another executor.
    @MainActor @Test func itMayBeFinishedFromWithinACall() async {
        let session = MockTransport.session("http://layer.test/")
        let log = Log()
        let operation = ScopedOperation(of: session)
        operation.send(
            1,
            to: Callback { @MainActor value in
                log.add("\(value)")
                operation.finish(with: 2, to: Callback { log.add("\($0)") })
            })
        guard case .succeeded = await operation.outcome() else {
            Issue.record("\(log.all)")
            return
        }
        #expect(log.all == ["1", "2"])
    }

    /// A closure that waits for an executor that is busy is destroyed with the cancel all the same.
    @Test func aCancelDestroysWhatWaits() async {
        let session = MockTransport.session("http://layer.test/")
        final class Canary: Sendable {}
        var canary: Canary? = Canary()
        weak let watched = canary
        let (isHeld, mayGo) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        DispatchQueue.main.async {
            isHeld.signal()
            mayGo.wait()
        }
        isHeld.wait()
        let operation = ScopedOperation(of: session)
        operation.finish(with: 1, to: Callback { @MainActor [canary] _ in withExtendedLifetime(canary) {} })
        canary = nil
        #expect(watched != nil && operation.cancel() == .cancelled)
        #expect(watched == nil)
        await session.agent.waitUntilIdle()
        mayGo.signal()
    }

    /// Calls back into all that may have ended it.
    private final class Visitor: Sendable {
        private let onEnd: @Sendable () -> Void
        init(_ onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }
        deinit { onEnd() }
    }

    private final class Slot: Sendable {
        private let held = Mutex<Callback<Int>?>(nil)
        var callback: Callback<Int>? {
            get { held.withLock { $0 } }
            set { held.withLock { $0 = newValue } }
        }
    }

    private enum Ending: CaseIterable { case discard, call, cancel, bag, tooLate }

    /// Were a lock held then, the calls from within would wait for it.
    @Test(arguments: Ending.allCases) private func aClosureIsDestroyedOutsideLocks(_ ending: Ending) async throws {
        let executor = ManualExecutor()
        let session = MockTransport.session("http://layer.test/") { $0.use(executor) }
        let (bag, log, slot) = (DeallocBag(), Log(), Slot())
        let operation = ScopedOperation(in: bag, of: session)
        do {
            let visitor = Visitor {
                slot.callback?.discard()
                operation.send(1, to: Callback { _ in })
                operation.finish(with: 2, to: Callback { _ in })
                operation.cancel()
                operation.steps.end()
                bag.end()
                log.add("gone \(slot.callback?.isSpent == true)")
            }
            slot.callback = Callback { _ in withExtendedLifetime(visitor) { log.add("called") } }
        }
        let callback = try #require(slot.callback)
        if ending == .tooLate { operation.finish() }
        if ending != .discard { operation.finish(with: 0, to: callback) }
        switch ending {
        case .discard: callback.discard()
        case .call: executor.runAll()
        case .cancel: operation.cancel()
        case .bag: bag.end()
        case .tooLate: break
        }
        executor.runAll()
        await session.agent.waitUntilIdle()
        #expect(log.all == (ending == .call ? ["called", "gone true"] : ["gone true"]))
    }

    @Test func runsAreFoundByIDAndByTag() async {
        let session = MockTransport.session("http://layer.test/", unanswered: .wait)
        let runs = ["a", "b", "a"].map { session.get("p").tag($0).start() }
        #expect(session.agent.runs(tag: "a").map(\.id) == [runs[0].id, runs[2].id])
        #expect(session.agent.runs().count == 3 && session.agent.runs(tag: "c").isEmpty)
        let found = session.agent.run(id: runs[1].id)
        #expect(found?.tag == "b" && found?.cancel() == .cancelled)
        #expect(runs[1].status.stage == .cancelled && runs[0].status.stage != .cancelled)
        session.agent.cancelAll()
        await session.agent.waitUntilIdle()
        #expect(session.agent.run(id: runs[1].id) == nil && session.agent.runs().isEmpty)
    }

    private actor Keeper {
        var values: [Int] = []
        func keep(_ value: Int) { values.append(value) }
    }

    @Test func anActorIsEntered() async {
        let session = MockTransport.session("http://layer.test/")
        let keeper = Keeper()
        let operation = ScopedOperation(of: session)
        operation.send(1, to: Callback(for: keeper) { $0.values.append($1) })
        let last = Callback<Int>(for: keeper) { $0.values.append($1) }
        operation.finish(with: 2, to: last)
        _ = await operation.outcome()
        #expect(await keeper.values.contains(2) && last.isSpent)
        // Nothing is called after the end.
        operation.send(3, to: Callback(for: keeper) { $0.values.append($1) })
        operation.finish(with: 4, to: Callback(for: keeper) { $0.values.append($1) })
        await session.agent.waitUntilIdle()
        #expect(await keeper.values.filter { $0 > 2 } == [])
    }

    @Test func theBagWaitsForItsOperations() async {
        let session = MockTransport.session("http://layer.test/")
        let page = DeallocBag()
        let operation = ScopedOperation(in: page, of: session)
        let log = Log()
        operation.steps.task {
            await Task.yield()
            operation.finish(with: 1, to: Callback { _ in log.add("done") })
        }
        await page.waitUntilIdle()
        #expect(log.all == ["done"] && page.count == 0)
    }

    /// Requests of a layer see interceptors, and a limit for their host that moves.
    @Test func aLimitOfAHostMoves() async throws {
        let session = MockTransport.session("http://layer.test/", unanswered: .wait)
        try session.concurrencyLimits.set(1, for: "/")
        let runs = (0..<12).map { session.get("\($0)").start() }
        await session.mock.waitForExchanges(1)
        #expect(session.mock.exchanges.count == 1)
        #expect(try session.concurrencyLimits.limit(for: "http://layer.test/other") == 1)
        #expect(try session.concurrencyLimits.limit(for: "http://another.test/") == nil)
        runs[11].setPriority(.veryHigh)
        try session.concurrencyLimits.set(3, for: "/")
        #expect(session.mock.exchanges.map(\.path) == ["/0", "/11", "/1"])
        // Fewer end nothing, and begin nothing until that many are left.
        try session.concurrencyLimits.set(2, for: "/")
        session.mock.exchanges[0].respond(.ok())
        await session.mock.waitForExchanges(3)
        session.mock.exchanges[1].respond(.ok())
        await session.mock.waitForExchanges(4)
        #expect(session.mock.exchanges.count == 4)
        try session.concurrencyLimits.set(9, for: "/")
        #expect(session.mock.exchanges.count == 11)
        try session.concurrencyLimits.set(nil, for: "/")
        #expect(try session.concurrencyLimits.limit(for: "/") == nil)
        session.agent.cancelAll()
        await session.agent.waitUntilIdle()
    }

    /// One begins, and the other waits for what is left of its time, whichever way the limit moves.
    @Test func theClocksOfTheQueueGoOnWhileALimitMoves() async throws {
        let clock = ManualClock()
        let session = MockTransport.session("http://layer.test/", unanswered: .wait) {
            $0.use(clock)
            $0.options.timeouts.queue = .seconds(5)
        }
        try session.concurrencyLimits.set(1, for: "/")
        let requests = (0..<3).map { session.get("\($0)") }
        for request in requests { request.start() }
        await session.mock.waitForExchanges(1)
        #expect(clock.armedCount == 2)
        clock.advance(by: .seconds(3))
        try session.concurrencyLimits.set(2, for: "/")
        await session.mock.waitForExchanges(2)
        try session.concurrencyLimits.set(1, for: "/")
        #expect(clock.armedCount == 1 && clock.nextWait == .seconds(2))
        clock.advance(by: .seconds(2))
        for exchange in session.mock.exchanges { exchange.respond(.ok(exchange.path)) }
        await session.agent.waitUntilIdle()
        let results = requests.map { request in
            switch request.result {
            case .success(let response)?: String(decoding: response.value, as: UTF8.self)
            case .failure(let error)?: "\(error.code)"
            case nil: "none"
            }
        }
        #expect(results == ["/0", "/1", "queueTimeout"])
    }
}
