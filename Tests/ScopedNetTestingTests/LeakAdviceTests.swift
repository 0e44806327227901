import CleanSlate
import Foundation
import ScopedNet
import Synchronization
import Testing

@testable import ScopedNetTesting

/// The advice of a failed leak check fits the kind of object that holds the owner.
@Suite(.leavesNothing, .timeLimit(.minutes(3))) struct LeakAdviceTests {
    /// An owner that any kind of holder can get hold of.
    private final class Page: RequestOwner, RequestDelegate, RequestObserver, Interceptor, Sendable {
        let deallocBag = DeallocBag(label: "Page")
        let session: Session
        private let uses = Atomic<Int>(0)
        private let stored = Mutex<[any Sendable]>([])

        init(_ session: Session) { self.session = session }

        func use() { uses.add(1, ordering: .relaxed) }
        func store(_ thing: any Sendable) { stored.withLock { $0.append(thing) } }
        func wait() async { _ = try? await session.request("http://h/").value(in: deallocBag) }

        func observe(_ event: RequestEvent) {}

        func intercept(
            _ request: InterceptedRequest, context: InterceptedRequest.Context, next: InterceptedRequest.Next
        ) async throws -> InterceptedResponse {
            try await next(request)
        }

        /// Lets go of everything that leads back to it.
        func tidyUp() {
            deallocBag.end()
            let things = stored.withLock { stored in
                defer { stored = [] }
                return stored
            }
            _ = things
        }
    }

    private struct Remembered {
        weak var page: Page?
    }

    /// The failure of a check whose page stays alive by what `use` does.
    private func failure(_ use: (Page, MockTransport) async throws -> Void) async -> String {
        let transport = MockTransport(unanswered: .wait)
        let session = mockedSession(transport)
        let (said, remembered) = (Box(""), Box(Remembered()))
        await withKnownIssue {
            do {
                try await expectDeallocates(within: .milliseconds(20)) {
                    Page(session)
                } after: { page in
                    remembered.value.page = page
                    try await use(page, transport)
                }
            } catch {
                Issue.record(error)
            }
        } matching: { issue in
            said.value = issue.comments.map(\.rawValue).joined(separator: "\n")
            return true
        }
        remembered.value.page?.tidyUp()
        session.agent.cancelAll()
        await session.agent.waitUntilIdle()
        return said.value
    }

    private func line(_ kind: LeakHolder.Kind, _ name: String = "onSuccess") -> String { LeakHolder(kind: kind, name: name).advice }

    /// The lines between the first and what is alive.
    private func advice(_ text: String) -> [String] {
        let known = Set(LeakHolder.Kind.allCases.map { String(line($0).prefix(20)) })
        return text.split(separator: "\n").map(String.init).filter { known.contains(String($0.prefix(20))) }
    }

    @Test func eachKindHasALineOfItsOwn() {
        let lines = LeakHolder.Kind.allCases.map { line($0) }
        #expect(Set(lines.map { $0.prefix(20) }).count == LeakHolder.Kind.allCases.count)
        #expect(lines.allSatisfy { $0.hasSuffix(".") && !$0.contains("\n") })
        // The more telling ones first, and each kind once.
        let holders = [LeakHolder(kind: .session), LeakHolder(kind: .closure, name: "onEnd"), LeakHolder(kind: .closure)]
        #expect(LeakHolder.advice(about: holders) == [line(.closure, "onEnd"), line(.session)])
    }

    // MARK: Holders of an owner

    @Test func aClosureIsToTakeItsOwner() async {
        let text = await failure { page, _ in page.session.request("http://h/").onFailure { _ in page.use() }.start(for: page) }
        #expect(text.contains("Page is still alive"))
        #expect(advice(text) == [line(.closure, "onFailure")])
        #expect(text.contains("onFailure(for: self) { owner, … in … }"))
    }

    @Test func aClosureThatTakesItsOwnerIsNotToNameItself() async {
        let text = await failure { page, _ in
            page.session.request("http://h/").onEnd(for: page) { _, _ in page.use() }.start(for: page)
        }
        #expect(advice(text) == [line(.closure, "onEnd")])
        #expect(text.contains("do not name self in it"))
    }

    @Test func aRequestThatIsNotStartedIsToBeStartedOrLetGo() async {
        let text = await failure { page, _ in page.store(page.session.request("http://h/").onResponseHead { _ in page.use() }) }
        #expect(advice(text) == [line(.armedClosure, "onResponseHead")])
        #expect(text.contains("start it or let go of it"))
    }

    /// Of a run, of a request that is not started, and of one in flight.
    @Test func aHookIsToTakeItsOwner() async {
        var state = CensusState()
        (state.isInFlight, state.tables) = (true, ["the bag of Page"])
        let found = LeakHolder.found(.run, at: "A.swift:1", state, ["decideRedirect at A.swift:2", "onEnd at A.swift:3"], nil)
        #expect(LeakHolder.advice(about: found) == [line(.closure, "onEnd"), line(.hook, "decideRedirect")])
        let flying = await failure { page, _ in
            page.session.request("http://h/").decideRedirect { _ in
                page.use()
                return .follow
            }.start(for: page)
        }
        #expect(advice(flying).contains(line(.hook, "decideRedirect")))
        let text = await failure { page, _ in
            page.store(
                page.session.request("http://h/").decideRedirect { _ in
                    page.use()
                    return .follow
                })
        }
        #expect(advice(text) == [line(.armedClosure, "decideRedirect")])
        #expect(text.contains("decideRedirect(for: self) { owner, … in … }"))
    }

    @Test func aMethodThatAwaitsIsToBeATaskForItsOwner() async {
        let text = await failure { page, transport in
            Task { await page.wait() }
            await transport.waitForExchanges(1)
        }
        #expect(advice(text) == [line(.awaitingTask)])
        #expect(text.contains("deallocBag.task(for: self) { [session] in … } onSuccess: { owner, value in … }"))
        // There is no such form of an `await`.
        #expect(!text.contains("onSuccess(for: self)"))
    }

    @Test func aTaskOfABagIsToCaptureWhatItNeeds() async {
        let text = await failure { page, transport in
            page.deallocBag.task { await page.wait() }
            await transport.waitForExchanges(1)
        }
        // The run that the task awaits says nothing new.
        #expect(advice(text) == [line(.bagTask)])
        #expect(text.contains("capture what its steps need, and not self"))
    }

    @Test func aTaskOfABagBetweenItsRequestsIsSeenToo() async {
        let (silence, end) = AsyncStream.makeStream(of: Void.self)
        let text = await failure { page, _ in
            page.deallocBag.task {
                for await _ in silence {}
                page.use()
            }
        }
        #expect(advice(text) == [line(.bagTask)])
        end.finish()
    }

    @Test func whatWasInsertedIsToReferToTheOwnerWeakly() async {
        let text = await failure { page, _ in page.deallocBag.insert(AnyCancellable { page.use() }) }
        #expect(advice(text) == [line(.insertedItem)])
    }

    @Test func anOperationIsToHandTheOwnerToItsCallbacks() async {
        let text = await failure { page, _ in
            _ = ScopedOperation(in: page.deallocBag, of: page.session, onEnd: Callback { _ in page.use() })
        }
        #expect(advice(text) == [line(.operation)])
        #expect(text.contains("Callback(for: self)"))
    }

    @Test func aStreamIsToBeReadInATask() async {
        let text = await failure { page, transport in
            Task {
                let response = try await page.session.stream("http://h/")
                for try await _ in response.bytes { page.use() }
            }
            await transport.exchange(0).receiveHead()
        }
        // Its closure for the head is the library's.
        #expect(advice(text) == [line(.awaitingTask), line(.stream)])
    }

    @Test func aClosureOfASessionIsToReferToTheOwnerWeakly() async {
        let text = await failure { page, _ in
            let session = page.session.with { _ in }
            session.onRequest { _ in page.use() }
            page.store(session)
        }
        #expect(advice(text) == [line(.session)])
        #expect(text.contains("onRequest"))
    }

    @Test func anObserverIsToBeAnObjectOfItsOwn() async {
        let text = await failure { page, _ in page.store(page.session.with { $0.observers.append(page) }) }
        #expect(advice(text) == [line(.observer), line(.session)])
        let other = await failure { page, _ in page.store(page.session.with { $0.options.interceptors.call.append(page) }) }
        #expect(advice(other) == [line(.observer), line(.session)])
    }

    /// Its session is held by nothing but the run.
    @Test func anObserverOfARunInFlightIsSeenToo() async {
        let text = await failure { page, _ in
            page.session.with { $0.observers.append(page) }.request("http://h/").start(for: page)
        }
        #expect(advice(text) == [line(.observer)])
    }

    @Test func aCycleOfTheOwnersOwnIsSaidToBeNoneOfTheLibrarys() async {
        let text = await failure { page, _ in page.store(page) }
        #expect(advice(text).isEmpty)
        #expect(text.contains("Nothing that was made here is known to hold it: look for a cycle"))
        // Its bag is alive with it, which says nothing.
        #expect(!text.contains("referenced by you"))
    }

    @Test func aDelegateIsNotHeld() async {
        let session = mockedSession()
        await expectDeallocates {
            Page(session)
        } after: { page in
            session.request("http://h/").delegate(sendable: page).start()
        }
        session.agent.cancelAll()
        await session.agent.waitUntilIdle()
    }

    // MARK: What is left by itself

    /// The advice about what `body` leaves, besides its session.
    private func leftovers(_ body: (Session, Attic) async -> Void) async -> [String] {
        let (attic, census) = (Attic(), LeakCensus())
        let session = mockedSession(MockTransport(unanswered: .wait))
        session.mock.on("/answered", .ok())
        await census.listen { await body(session, attic) }
        let advice = census.report().advice
        attic.clear()
        session.agent.cancelAll()
        await session.agent.waitUntilIdle()
        return advice
    }

    @Test func aRunInNoBagIsToBelongToAnOwner() async {
        let unbound = await leftovers { session, _ in session.request("http://h/").start() }
        #expect(unbound == [line(.unboundRun)])
        let bound = await leftovers { session, attic in
            let bag = DeallocBag()
            attic.keep(bag)
            session.request("http://h/").start(in: bag)
        }
        #expect(bound == [line(.bag)])
    }

    @Test func aStoredRunIsToBeLetGo() async {
        let lines = await leftovers { session, attic in
            attic.keep(session.request("http://h/answered").start())
            await session.agent.waitUntilIdle()
        }
        #expect(lines == [line(.storedRun)])
    }

    @Test func aStoredOperationIsToBeLetGo() async {
        let lines = await leftovers { session, attic in
            let operation = ScopedOperation(of: session)
            operation.finish()
            await session.agent.waitUntilIdle()
            attic.keep(operation)
        }
        // Its steps are in a bag.
        #expect(lines == [line(.storedOperation), line(.bag)])
    }

    @Test func aStoredRequestIsToBeLetGo() async {
        let lines = await leftovers { session, attic in attic.keep(session.request("http://h/")) }
        #expect(lines == [line(.storedRequest)])
    }

    @Test func aStoredSessionIsToBeLetGo() async {
        let lines = await leftovers { session, attic in attic.keep(session.with { _ in }) }
        #expect(lines == [line(.session)])
    }

    @Test func theReportEndsWithTheAdvice() {
        let (attic, census) = (Attic(), LeakCensus())
        census.listen { attic.keep(DeallocBag()) }
        let report = census.report()
        #expect(report.description.hasSuffix("\n" + line(.bag)))
        attic.clear()
    }

    // MARK: Forgotten starts

    /// The failure of a check.
    private func complaint(_ check: (Session) async throws -> Void) async -> String {
        let session = mockedSession()
        let said = Box("")
        await withKnownIssue {
            do { try await check(session) } catch { Issue.record(error) }
        } matching: { issue in
            said.value = issue.comments.map(\.rawValue).joined(separator: "\n")
            return true
        }
        return said.value
    }

    @Test func aForgottenStartFailsEachCheck() async {
        let sentence = "the request for 'http://h/forgotten' was dropped without a start although closures were registered at onEnd at "
        let gone = await complaint { session in
            await expectDeallocates {
                Page(session)
            } after: { page in
                _ = page.session.request("http://h/forgotten").onEnd(for: page) { _, _ in }
            }
        }
        #expect(gone.contains("Page went, and a request was never started: " + sentence))
        let scope = await complaint { session in
            await expectScopeCancels(within: .milliseconds(20)) {
                Page(session)
            } after: { page in
                _ = page.session.request("http://h/forgotten").onEnd(for: page) { _, _ in }
            }
        }
        #expect(scope.contains("Page went, and a request was never started: " + sentence))
        let growth = await complaint { session in
            await expectNoGrowth(rounds: 2) { _ = session.request("http://h/forgotten").onEnd { _ in } }
        }
        #expect(growth.contains("A request was never started: " + sentence))
    }
}
