import CleanSlate
import Glibc
@_spi(Transport) import ScopedNet
import Testing

@_spi(Transport) @testable import ScopedNetTesting

/// Each check passes on clean code, and says what is wrong with code that leaks on purpose.
@Suite(.leavesNothing) struct LeakExpectationTests {
    /// Runs a check that has to fail, and hands out what it said.
    private func failure(of check: () async throws -> Void) async -> String {
        let said = Box("")
        await withKnownIssue {
            do { try await check() } catch { Issue.record(error) }
        } matching: { issue in
            said.value = issue.comments.map(\.rawValue).joined(separator: "\n")
            return true
        }
        return said.value
    }

    // MARK: expectDeallocates

    @Test func anOwnerWithRequestsInFlightGoes() async {
        let session = mockedSession()
        await expectDeallocates {
            TidyModel(session)
        } after: {
            $0.load()
        }
    }

    @Test func aClosureThatCapturesItsOwnerIsNamedWithItsLine() async {
        let transport = MockTransport(unanswered: .wait)
        let session = mockedSession(transport)
        let text = await failure {
            await expectDeallocates(within: .milliseconds(20)) {
                ClingingModel(session)
            } after: {
                $0.load()
            }
        }
        #expect(text.contains("ClingingModel is still alive"))
        #expect(text.contains("in flight"))
        #expect(text.contains("onSuccess at ScopedNetTestingTests/Models.swift:25"))
        #expect(text.contains("started at ScopedNetTestingTests/Models.swift:25"))
        #expect(text.contains("held by its agent, the bag of ClingingModel"))
        #expect(text.contains("onSuccess(for: self)"))
        await transport.exchange(0).respond(.ok())
        await session.agent.waitUntilIdle()
    }

    @Test func anOwnerThatDiesWithTheLastCallbackIsWaitedFor() async {
        let transport = MockTransport(unanswered: .wait)
        transport.on("/clinging", .ok())
        let session = mockedSession(transport)
        await expectDeallocates {
            ClingingModel(session)
        } after: {
            $0.load()
        }
    }

    @MainActor @Test func aModelOfTheMainActorIsMadeAndLetGoThere() async {
        @MainActor final class Model: RequestOwner {
            nonisolated let deallocBag = DeallocBag()
            var text = ""
            func load(_ session: Session) {
                session.request("http://h/").onSuccess(for: self) { model, _ in model.text = "x" }.start(for: self)
            }
        }
        let session = mockedSession()
        await expectDeallocates {
            Model()
        } after: {
            $0.load(session)
        }
        await expectScopeCancels {
            Model()
        } after: {
            $0.load(session)
        }
    }

    // MARK: expectScopeCancels

    @Test func theRequestsOfAnOwnerEndWithIt() async {
        let transport = MockTransport(unanswered: .wait)
        let session = mockedSession(transport)
        await expectScopeCancels {
            TidyModel(session)
        } after: { model in
            model.load()
            model.load()
            await transport.waitForExchanges(2)
        }
        #expect(transport.cancellations.count == 2)
    }

    @Test func aRequestInNoBagIsToldOf() async {
        let transport = MockTransport(unanswered: .wait)
        let session = mockedSession(transport)
        let text = await failure {
            await expectScopeCancels(within: .milliseconds(20)) {
                CarelessModel(session)
            } after: {
                $0.load()
            }
        }
        #expect(text.contains("CarelessModel went, and not all its requests with it"))
        #expect(text.contains("started at ScopedNetTestingTests/Models.swift:35, was not cancelled: is it in the owner's bag?"))
        #expect(text.contains("in flight"))
        session.agent.cancelAll()
        await session.agent.waitUntilIdle()
    }

    @Test func aRequestThatComesToItsOwnEndIsToldOf() async {
        let transport = MockTransport(unanswered: .wait)
        let session = mockedSession(transport)
        let text = await failure {
            await expectScopeCancels {
                CarelessModel(session)
            } after: { model in
                model.load()
                let exchange = await transport.exchange(0)
                Task.detached { exchange.respond(.ok()) }
            }
        }
        #expect(text.contains("was not cancelled"))
    }

    @Test func anOwnerThatStartsNothingShowsNothing() async {
        let session = mockedSession()
        let text = await failure {
            await expectScopeCancels {
                TidyModel(session)
            } after: { _ in
            }
        }
        #expect(text.contains("No request of TidyModel was in flight when it was let go"))
    }

    @Test func anotherEndThatSeesNothingIsToldOf() async {
        let session = mockedSession()
        let text = await failure {
            try await expectScopeCancels(within: .milliseconds(20)) {
                TidyModel(session)
            } after: {
                $0.load()
            } seenBy: {
                try await Task.sleep(for: .seconds(60))
            }
        }
        #expect(text.contains("The other end did not see the connections go within 0.02 seconds"))
    }

    @Test func anotherEndThatSeesThemGoIsAskedOnce() async throws {
        let transport = MockTransport(unanswered: .wait)
        let session = mockedSession(transport)
        let asked = Box(0)
        try await expectScopeCancels(within: .seconds(60)) {
            TidyModel(session)
        } after: { model in
            model.load()
            await transport.waitForExchanges(1)
        } seenBy: {
            asked.value += 1
            // When it is asked, the transport has been told already.
            if transport.cancellations.count != 1 { throw CancellationError() }
        }
        #expect(asked.value == 1)
    }

    /// A witness that does not hear of its cancellation holds nobody up.
    @Test func anotherEndThatNeverAnswersIsToldOf() async {
        let session = mockedSession()
        let (silence, end) = AsyncStream.makeStream(of: Void.self)
        let text = await failure {
            await expectScopeCancels(within: .milliseconds(20)) {
                TidyModel(session)
            } after: {
                $0.load()
            } seenBy: {
                await Task.detached { for await _ in silence {} }.value
            }
        }
        #expect(text.contains("The other end did not see the connections go within 0.02 seconds"))
        end.finish()
    }

    @Test func aFailureOfTheOtherEndIsToldOf() async {
        struct Unreachable: Error {}
        let session = mockedSession()
        let text = await failure {
            try await expectScopeCancels(within: .seconds(60)) {
                TidyModel(session)
            } after: {
                $0.load()
            } seenBy: {
                throw Unreachable()
            }
        }
        #expect(text.contains("The other end could not be asked: Unreachable()"))
    }

    // MARK: expectNoGrowth

    @Test func roundsThatLeaveNothingDoNotGrow() async throws {
        let transport = MockTransport { _ in .ok() }
        let session = mockedSession(transport)
        try await expectNoGrowth(rounds: 4) { () async throws in _ = try await session.request("http://h/").value() }
    }

    @Test func roundsThatKeepOneMoreEachTimeGrow() async {
        let session = mockedSession()
        let attic = Attic()
        let text = await failure { await expectNoGrowth(rounds: 4, within: .milliseconds(5)) { attic.keep(session.request("http://h/")) } }
        #expect(text.contains("What is alive grows from round to round: 1, 2, 3, 4."))
        #expect(text.contains("request"))
    }

    /// The sanitizers have allocators of their own, which do not count so.
    private static let isHeapCounted = !UnreachableHeap.isChecked && dlsym(nil, "__tsan_init") == nil

    /// In a process of its own, where no test is to be told: the heap is everybody's, and suites beside this one let go of hundreds of megabytes in a round.
    @Test(.enabled(if: isHeapCounted, "a sanitizer's allocator does not say what is in use")) func aHeapThatGrowsIsToldOf() async {
        await #expect(processExitsWith: .success) {
            for (most, isTold) in [(1 << 20, true), (8 << 20, false)] {
                let attic = Attic()
                var growth = GrowthCheck(heapPerRound: most)
                for _ in 0..<4 {
                    attic.keep([UInt8](repeating: 1, count: 4 << 20))
                    growth.endRound()
                }
                guard growth.failure?.hasPrefix("The heap grows from round to round: ") ?? false == isTold else { exit(isTold ? 2 : 3) }
            }
        }
    }
}

final class Box<Value>: @unchecked Sendable {
    // Safety: one test's, which uses it from one task.
    var value: Value
    init(_ value: Value) { self.value = value }
}
