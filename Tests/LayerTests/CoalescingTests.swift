import CleanSlate
import ScopedNet
import ScopedNetTesting
import Synchronization
import Testing

/// One piece of work for everybody who wants the same: ``RequestCoalescer/join(_:of:priority:in:tag:to:fileID:line:work:)``.
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct CoalescingTests {
    private final class Log: Sendable {
        private let lines = Mutex<[String]>([])
        func add(_ line: String) { lines.withLock { $0.append(line) } }
        var all: [String] { lines.withLock { $0.sorted() } }

        func callback(_ name: String) -> Callback<Result<String, any Error>> {
            Callback { [self] result in
                switch result {
                case .success(let value): add("\(name) \(value)")
                case .failure(let error): add("\(name) \((error as? NetworkError)?.code.description ?? "\(error)")")
                }
            }
        }
    }

    private typealias Pictures = RequestCoalescer<String, String>

    private func join(
        _ pictures: Pictures, _ path: String, _ session: Session, _ name: String, _ log: Log, priority: Priority = .normal,
        in bag: DeallocBag? = nil
    ) -> ScopedOperation {
        pictures.join(path, of: session, priority: priority, in: bag, to: log.callback(name)) { [session] lead in
            try await lead.value(of: session.get(path, as: String.self))
        }
    }

    @Test func allGetTheProductOfOneWork() async {
        let session = MockTransport.session("http://layer.test/", unanswered: .wait)
        let (pictures, log) = (Pictures(), Log())
        let members = ["a", "b", "c"].map { join(pictures, "p", session, $0, log) }
        let other = join(pictures, "q", session, "d", log)
        await session.mock.waitForExchanges(2)
        for exchange in session.mock.exchanges { exchange.respond(.ok(exchange.path)) }
        for member in members + [other] {
            guard case .succeeded = await member.outcome() else {
                Issue.record("\(log.all)")
                return
            }
        }
        #expect(log.all == ["a /p", "b /p", "c /p", "d /q"])
        #expect(session.mock.exchanges.count == 2)
        await session.agent.waitUntilIdle()
    }

    @Test func anErrorIsThatOfAll() async {
        let session = MockTransport.session("http://layer.test/")
        session.mock.on("p", .status(404))
        let (pictures, log) = (Pictures(), Log())
        let members = ["a", "b"].map { join(pictures, "p", session, $0, log) }
        for member in members { _ = await member.outcome() }
        #expect(log.all.allSatisfy { $0.hasSuffix("unacceptableStatus") } && log.all.count == 2)
        await session.agent.waitUntilIdle()
    }

    @Test func theWorkGoesOnUntilTheLastHasLeft() async {
        let session = MockTransport.session("http://layer.test/", unanswered: .wait)
        let (pictures, log) = (Pictures(), Log())
        let (first, second) = (DeallocBag(), DeallocBag())
        _ = join(pictures, "p", session, "a", log, in: first)
        let b = join(pictures, "p", session, "b", log, in: second)
        await session.mock.waitForExchanges(1)
        // The one who began it goes; the work is everybody's.
        first.end()
        #expect(!session.mock.exchanges[0].isCancelled)
        #expect(b.cancel() == .cancelled)
        await session.agent.waitUntilIdle()
        #expect(session.mock.exchanges[0].isCancelled)
        // A new member begins anew.
        let late = join(pictures, "p", session, "c", log)
        await session.mock.waitForExchanges(2)
        session.mock.exchanges[1].respond(.ok("again"))
        _ = await late.outcome()
        #expect(log.all == ["c again"])
        await session.agent.waitUntilIdle()
    }

    @Test func theWorkIsAsUrgentAsTheMostUrgentWhoWaits() async throws {
        let session = MockTransport.session("http://layer.test/", unanswered: .wait)
        try session.concurrencyLimits.set(1, for: "/")
        let (pictures, log) = (Pictures(), Log())
        session.get("busy").start()
        await session.mock.waitForExchanges(1)
        let bag = DeallocBag()
        _ = join(pictures, "p", session, "a", log, priority: .low)
        await eventually { session.agent.runs().count >= 2 }
        let run = try #require(session.agent.runs().last)
        #expect(run.priority == .low)
        _ = join(pictures, "p", session, "b", log, priority: .veryHigh, in: bag)
        #expect(run.priority == .veryHigh)
        bag.end()
        #expect(run.priority == .low)
        session.agent.cancelAll()
        await session.agent.waitUntilIdle()
        #expect(log.all.isEmpty)
    }

    @Test func anEndedBagJoinsNobody() async {
        let session = MockTransport.session("http://layer.test/", unanswered: .wait)
        let (pictures, log) = (Pictures(), Log())
        let bag = DeallocBag()
        bag.end()
        #expect(!join(pictures, "p", session, "a", log, in: bag).isRunning)
        await session.agent.waitUntilIdle()
        #expect(session.mock.exchanges.isEmpty && log.all.isEmpty)
    }

    /// Joined and left from many threads at once: every member hears once or was cancelled, and nothing stays.
    @Test func manyComeAndGo() async {
        let session = MockTransport.session("http://layer.test/")
        for key in 0..<4 { session.mock.on("\(key)", .ok("\(key)")) }
        let (pictures, log) = (Pictures(), Log())
        let cancelled = Log()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<2_000 {
                group.addTask {
                    let member = self.join(pictures, "\(number % 4)", session, "\(number)", log, priority: Priority.allCases[number % 5])
                    if number % 3 == 0 { member.cancel() }
                    if case .cancelled = await member.outcome() { cancelled.add("\(number)") }
                }
            }
        }
        await session.agent.waitUntilIdle()
        #expect(log.all.count + cancelled.all.count == 2_000)
        #expect(Set(log.all).count == log.all.count)
    }
}
