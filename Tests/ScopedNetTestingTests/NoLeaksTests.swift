import CleanSlate
import Dispatch
import Foundation
import ScopedNet
import ScopedNetTesting
import Testing

@Suite(.leavesNothing) struct NoLeaksTests {
    /// What the trait says of a body that leaks.
    private func verdict(allowing allowed: Set<LeakReport.Kind> = [], _ body: @escaping @Sendable () async throws -> Void) async -> String {
        let said = Box("")
        guard let test = Test.current else { return "no test" }
        let trait: NoLeaksTrait = .noLeaks(allowing: allowed, within: .milliseconds(20))
        await withKnownIssue {
            try? await trait.provideScope(for: test, testCase: nil, performing: body)
        } matching: { issue in
            said.value = issue.comments.map(\.rawValue).joined(separator: "\n")
            return true
        }
        return said.value
    }

    @Test func aTestThatCleansUpPasses() async throws {
        let transport = MockTransport { _ in .ok("x") }
        let session = mockedSession(transport)
        let bag = DeallocBag()
        let value = try await session.request("http://h/").value(in: bag)
        #expect(value == Data("x".utf8))
    }

    @Test func whatIsInFlightMayEndAfterTheTest() async throws {
        let transport = MockTransport { _ in .ok("x") }
        mockedSession(transport).request("http://h/").start()
    }

    @Test func aRunInFlightIsToldOf() async {
        let attic = Attic()
        let text = await verdict {
            let session = mockedSession()
            attic.keep(session)
            session.request("http://h/slow").onEnd { _ in }.start()
        }
        #expect(text.contains("aRunInFlightIsToldOf"))
        #expect(text.contains("run"))
        #expect(text.contains("in flight"))
        #expect(text.contains("GET http://h/slow, transferring, attempt 1"))
        #expect(text.contains("onEnd at ScopedNetTestingTests/NoLeaksTests.swift:"))
        #expect(text.contains("session"))
        #expect(text.contains("held by what is in flight"))
        for session in attic.sessions { session.agent.cancelAll() }
        attic.clear()
    }

    @Test func aRunThatEndedAndIsHeldIsToldOf() async {
        let attic = Attic()
        let text = await verdict {
            let transport = MockTransport { _ in .ok() }
            let session = mockedSession(transport)
            attic.keep(session.request("http://h/").start())
            await session.agent.waitUntilIdle()
        }
        #expect(text.contains("ended, but referenced by you"))
        #expect(text.contains("held by a handle (Run) of yours"))
        #expect(text.contains("/NoLeaksTests.swift:"))
        #expect(text.contains(" ago"))
    }

    @Test func aRequestSaysWhichArmedClosuresItHolds() async {
        let attic = Attic()
        let text = await verdict(allowing: [.session]) {
            let request = mockedSession().request("http://h/armed")
            // The cycle: a request that holds a closure that holds the request.
            _ = request.onSuccess { _ in _ = request }
            attic.keep(request)
        }
        #expect(text.contains("referenced by you"))
        #expect(text.contains("holds onSuccess at ScopedNetTestingTests/NoLeaksTests.swift:"))
        #expect(!text.contains("session"))
        for request in attic.requests { request.start() }
        for request in attic.requests { request.cancel() }
        attic.clear()
    }

    @Test func aRequestThatWasNeverStartedIsToldOf() async {
        let text = await verdict {
            let session = mockedSession(MockTransport { _ in .ok() })
            _ = session.request("http://h/forgotten?token=hush").onSuccess { _ in }
            // No closures, nothing forgotten; and one that was started.
            _ = session.request("http://h/made")
            session.request("http://h/started").onSuccess { _ in }.start()
            await session.agent.waitUntilIdle()
        }
        #expect(text.contains("the request for 'http://h/forgotten?token=***' was dropped without a start"))
        #expect(text.contains("onSuccess at ScopedNetTestingTests/NoLeaksTests.swift:"))
        #expect(!text.contains("h/made") && !text.contains("h/started"))
    }

    @Test func aRequestIsNamedAsTheHolderOfItsLastRun() async {
        let attic = Attic()
        let text = await verdict {
            let session = mockedSession(MockTransport { _ in .ok() })
            let request = session.request("http://h/")
            request.start()
            await session.agent.waitUntilIdle()
            attic.keep(request)
        }
        #expect(text.contains("held by request "))
        attic.clear()
    }

    @Test func aBagIsToldOfByItsLabel() async {
        let attic = Attic()
        let text = await verdict { attic.keep(DeallocBag(label: "the page")) }
        #expect(text.contains("bag"))
        #expect(text.contains("the page: 0 members"))
        attic.clear()
    }

    @Test func whatCallbacksMakeIsCounted() async {
        let attic = Attic()
        let text = await verdict {
            let transport = MockTransport { _ in .ok() }
            let session = mockedSession(transport)
            session.request("http://h/").onSuccess { _ in attic.keep(DeallocBag(label: "made in a callback")) }.start()
            await session.agent.waitUntilIdle()
        }
        #expect(text.contains("made in a callback"))
        attic.clear()
    }

    @Test func anAwaitThatIsNeverResumedIsToldOf() async {
        let attic = Attic()
        let text = await verdict {
            let session = mockedSession()
            attic.keep(session)
            attic.keep(Task { try? await session.request("http://h/").value() })
        }
        #expect(text.contains("a task that awaits it"))
        attic.cancelTasks()
        attic.clear()
    }

    /// Fifty at a time; every fifth holds on to something.
    @Test(arguments: 0..<50) func testsThatRunSideBySideDoNotSeeEachOther(number: Int) async {
        let attic = Attic()
        let census = LeakCensus()
        await census.listen {
            for _ in 0..<10 { _ = try? await mockedSession(MockTransport { _ in .ok() }).request("http://h/").value() }
            if number % 5 == 0 { attic.keep(DeallocBag()) }
        }
        let report = await census.settle(within: number % 5 == 0 ? .milliseconds(200) : .seconds(5))
        #expect(report.leaks.count == (number % 5 == 0 ? 1 : 0))
        attic.clear()
    }

    @Test func aFailingTestIsCheckedTooAndFailsAsItWould() async {
        struct Oops: Error {}
        guard let test = Test.current else { return }
        let trait: NoLeaksTrait = .noLeaks
        await #expect(throws: Oops.self) {
            try await trait.provideScope(for: test, testCase: nil) { throw Oops() }
        }
    }

    /// A time limit cancels the task of its test, and so may the test itself: what is in flight has its time all the same.
    @Test func aTestThatIsCancelledIsWaitedForToo() async throws {
        let (test, attic) = (try #require(Test.current), Attic())
        let trait: NoLeaksTrait = .noLeaks(within: .seconds(60), checksHeap: false)
        await Task {
            try? await trait.provideScope(for: test, testCase: nil) {
                attic.keep(DeallocBag())
                DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(50)) { attic.clear() }
                withUnsafeCurrentTask { $0?.cancel() }
            }
        }.value
    }

    @Test func theSharedSessionBelongsToNoTest() async {
        let census = LeakCensus()
        census.listen { _ = Session.shared }
        #expect(census.liveCount == 0)
    }
}
