import CleanSlate
import ScopedNet
import ScopedNetTesting
import Testing

@testable import ScopedNetEndpoints

/// Calls that are repeated until their answer is the one that is waited for.
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct PollTests {
    private struct Server: APIService {
        var baseURL: String { "http://api.test/" }
    }

    private struct Job: Endpoint {
        typealias Value = Int
        let path = "job"
    }

    private func log(_ poll: Poll<Server, Job>, _ log: CallLog) -> Poll<Server, Job> {
        poll.onValue { log.add("\($0)") }
            .onSuccess { log.add("done \($0)") }
            .onFailure { log.add("\($0.code)") }
            .onEnd { log.add("\($0)".prefix { $0 != "(" }.description) }
    }

    @Test func waitsGrowUpToTheLongest() {
        var machine = PollMachine(PollSchedule(every: .seconds(2), factor: 2, longest: .seconds(5), attempts: 2))
        #expect(machine.answered(isLast: false) == .wait(.seconds(2)))
        #expect(machine.failed() == .wait(.seconds(4)))
        #expect(machine.answered(isLast: false) == .wait(.seconds(5)) && machine.answered(isLast: false) == .wait(.seconds(5)))
        machine.networkChanged()
        #expect(machine.failed() == .wait(.seconds(2)) && machine.failed() == .fail)
        #expect(machine.answered(isLast: true) == .succeed)
        // Settings that make no sense do no harm.
        var odd = PollMachine(PollSchedule(every: .seconds(-1), factor: -3, longest: .seconds(-7), attempts: 0))
        #expect(odd.answered(isLast: false) == .wait(.zero) && odd.failed() == .fail)
        for factor in [Double.infinity, .nan, 1e300] {
            var fast = PollMachine(PollSchedule(every: .seconds(1), factor: factor, longest: .seconds(Int64.max)))
            #expect(fast.answered(isLast: false) == .wait(.seconds(1)))
            _ = fast.answered(isLast: false)
        }
        var long = PollMachine(PollSchedule(every: .seconds(90), factor: 2))
        #expect(long.answered(isLast: false) == .wait(.seconds(90)) && long.answered(isLast: false) == .wait(.seconds(90)))
    }

    @Test func itAsksUntilTheAnswerIsThere() async throws {
        let (clock, lines) = (ManualClock(), CallLog())
        let session = MockTransport.session("http://api.test/") { $0.use(clock) }
        session.mock.on("job", [.json("1"), .json("2"), .json("3")])
        let client = APIClient(Server(), session: session)
        let poll = log(client.poll(Job(), PollSchedule(every: .seconds(2), factor: 2), until: { $0 == 3 }), lines)
        let operation = try #require(poll.start())
        #expect(poll.start() == nil)
        await clock.waitForTimers(1)
        #expect(session.mock.exchanges.count == 1)
        clock.advance(by: .seconds(2))
        await session.mock.waitForExchanges(2)
        await clock.waitForTimers(1)
        clock.advance(by: .seconds(3))
        #expect(session.mock.exchanges.count == 2)
        clock.advance(by: .seconds(1))
        _ = await operation.outcome()
        await session.agent.waitUntilIdle()
        #expect(lines.all == ["1", "2", "3", "done 3", "succeeded"])
        await session.shutdown()
    }

    @Test func itGivesUpAfterFailuresInARow() async throws {
        let (clock, lines) = (ManualClock(), CallLog())
        let session = MockTransport.session("http://api.test/") { $0.use(clock) }
        session.mock.on("job", [.status(404), .json("1"), .status(404), .status(410)])
        let client = APIClient(Server(), session: session)
        let operation = try #require(log(client.poll(Job(), PollSchedule(every: .seconds(1), attempts: 2)), lines).start())
        for _ in 0..<3 {
            await clock.waitForTimers(1)
            clock.advance(by: .seconds(1))
        }
        _ = await operation.outcome()
        await session.agent.waitUntilIdle()
        #expect(lines.all == ["1", "unacceptableStatus", "failed"])
        await session.shutdown()
    }

    @Test func aNetworkThatIsBackIsAskedAtOnce() async throws {
        let (clock, network, lines) = (ManualClock(), ManualConnectivity(), CallLog())
        let session = MockTransport.session("http://api.test/") {
            $0.use(clock)
            $0.connectivity = network.connectivity
        }
        session.mock.on("job", [.json("1"), .json("2")])
        let client = APIClient(Server(), session: session)
        let operation = try #require(log(client.poll(Job(), PollSchedule(every: .seconds(100)), until: { $0 == 2 }), lines).start())
        await clock.waitForTimers(1)
        while network.watcherCount == 0 { await Task.yield() }
        network.change()
        _ = await operation.outcome()
        #expect(lines.all.prefix(2) == ["1", "2"] && network.watcherCount == 0)
        await session.agent.waitUntilIdle()
        await session.shutdown()
    }

    /// Neither the time nor the network asks again while a question is open.
    @Test func oneQuestionIsOpenAtATime() async throws {
        let (clock, network, lines) = (ManualClock(), ManualConnectivity(), CallLog())
        let session = MockTransport.session("http://api.test/", unanswered: .wait) {
            $0.use(clock)
            $0.connectivity = network.connectivity
        }
        let client = APIClient(Server(), session: session)
        let operation = try #require(log(client.poll(Job(), PollSchedule(every: .seconds(5)), until: { $0 == 2 }), lines).start())
        let first = await session.mock.exchange(0)
        clock.advance(by: .seconds(20))
        network.change()
        first.respond(.json("1"))
        while network.watcherCount == 0 { await Task.yield() }
        await clock.waitForTimers(1)
        #expect(session.mock.exchanges.count == 1)
        clock.advance(by: .seconds(5))
        let second = await session.mock.exchange(1)
        clock.advance(by: .seconds(20))
        network.change()
        second.respond(.json("2"))
        _ = await operation.outcome()
        await session.agent.waitUntilIdle()
        #expect(session.mock.exchanges.count == 2 && lines.all == ["1", "2", "done 2", "succeeded"])
        await session.shutdown()
    }

    @Test(arguments: [false, true]) func itsBagEndsIt(whileItWaits: Bool) async throws {
        let (clock, lines, bag) = (ManualClock(), CallLog(), DeallocBag())
        let session = MockTransport.session("http://api.test/", unanswered: .wait) { $0.use(clock) }
        if whileItWaits { session.mock.on("job", .json("1")) }
        let client = APIClient(Server(), session: session)
        log(client.poll(Job()), lines).start(in: bag)
        if whileItWaits { await clock.waitForTimers(1) } else { await session.mock.waitForExchanges(1) }
        bag.end()
        await session.agent.waitUntilIdle()
        #expect(lines.all.last == "cancelled" && lines.all.count <= (whileItWaits ? 2 : 1))
        await session.shutdown()
    }
}
