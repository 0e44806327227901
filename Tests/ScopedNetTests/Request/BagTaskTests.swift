import CleanSlate
import Foundation
import ScopedNetTesting
import Testing

@testable import ScopedNet

/// Several steps for an owner, and waiting for what a bag holds.
@Suite(.leavesNothing, .timeLimit(.minutes(5))) @MainActor struct BagTaskTests {
    @MainActor final class Page: RequestOwner {
        nonisolated let deallocBag = DeallocBag()
        private let session: Session
        var isLoading = false
        var lines: [String] = []

        init(session: Session) { self.session = session }

        func load() {
            deallocBag.task(for: self, isRunning: \.isLoading) { [session] in
                let first = try await session.request("http://h/first", decoder: .text).value()
                return try await [first, session.request("http://h/" + first, decoder: .text).value()]
            } onSuccess: { page, texts in
                page.lines += texts
            } onFailure: { page, error in
                page.lines.append(error.localizedDescription)
            }
        }

        func loadOne() {
            session.request("http://h/one", decoder: .text).start(for: self) { page, result in
                page.lines.append((try? result.get()) ?? "failed")
            }
        }
    }

    @Test func stepsHandTheOwnerTheirValue() async throws {
        try await withStage { session, transport async throws in
            transport.on("/first", .ok("second"))
            transport.on("/second", .ok("end"))
            let page = Page(session: session)
            page.load()
            #expect(page.isLoading)
            await page.deallocBag.waitUntilIdle()
            #expect(page.lines == ["second", "end"] && !page.isLoading)
        }
    }

    @Test func anErrorOfAStepIsHandedOn() async throws {
        try await withStage { session, transport async throws in
            transport.on("/first", .status(500))
            let page = Page(session: session)
            page.load()
            await page.deallocBag.waitUntilIdle()
            #expect(page.lines == ["The server has a problem (500)."] && !page.isLoading)
        }
    }

    @Test func aCancelOfTheBagStopsTheSpinnerAndCallsNothing() async throws {
        try await withStage { session, transport async throws in
            let page = Page(session: session)
            page.load()
            await transport.waitForStarts(1)
            page.deallocBag.cancelAll()
            while page.isLoading { await Task.yield() }
            await session.agent.waitUntilIdle()
            #expect(page.lines.isEmpty)
        }
    }

    @Test func aSpinnerOfTwoTasksStopsWithTheLast() async throws {
        try await withStage { session, transport async throws in
            let page = Page(session: session)
            page.load()
            page.load()
            let (first, second) = (await transport.exchange(0), await transport.exchange(1))
            transport.fail(first)
            while page.lines.isEmpty { await Task.yield() }
            #expect(page.isLoading)
            transport.fail(second)
            await page.deallocBag.waitUntilIdle()
            #expect(page.lines.count == 2 && !page.isLoading)
            page.load()
            #expect(page.isLoading)
            page.deallocBag.cancelAll()
            while page.isLoading { await Task.yield() }
            await session.agent.waitUntilIdle()
        }
    }

    @MainActor class Base: RequestOwner {
        nonisolated let deallocBag = DeallocBag()
        var isLoading = false { didSet { if oldValue != isLoading { changes.append(isLoading) } } }
        var isSaving = false
        var changes: [Bool] = []

        func load(_ steps: @escaping () async throws -> Void) -> Task<Void, Never> {
            deallocBag.task(for: self, isRunning: \.isLoading, steps) { _, _ in }
        }
    }

    @MainActor final class Derived: Base {
        func loadMore(_ steps: @escaping () async throws -> Void) -> Task<Void, Never> {
            deallocBag.task(for: self, isRunning: \.isLoading, steps) { _, _ in }
        }

        func save(_ steps: @escaping () async throws -> Void) -> Task<Void, Never> {
            deallocBag.task(for: self, isRunning: \.isSaving, steps) { _, _ in }
        }
    }

    /// To the compiler they have two key paths.
    @Test func aClassAndItsSubclassShareASpinner() async {
        let page = Derived()
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let first = page.load { for await _ in gate {} }
        await page.loadMore {}.value
        #expect(page.isLoading)
        await page.save { #expect(page.isSaving) }.value
        #expect(!page.isSaving && page.isLoading)
        open.finish()
        await first.value
        #expect(!page.isLoading && page.changes.first == true && page.changes.last == false)
        await page.loadMore {}.value
        #expect(!page.isLoading)
    }

    @Test func theStepsDoNotKeepTheOwner() async throws {
        try await withStage { session, transport async throws in
            var page: Page? = Page(session: session)
            weak let gone = page
            page?.load()
            await transport.waitForStarts(1)
            page = nil
            #expect(gone == nil)
            await session.agent.waitUntilIdle()
            #expect(transport.cancelled.count == 1)
        }
    }

    @Test func oneClosureForBothEnds() async throws {
        try await withStage { session, transport async throws in
            transport.on("/one", .ok("text"))
            let page = Page(session: session)
            page.loadOne()
            await page.deallocBag.waitUntilIdle()
            transport.on("/one", .failing(.connectionRefused))
            page.loadOne()
            await page.deallocBag.waitUntilIdle()
            #expect(page.lines == ["text", "failed"])
            // Neither for a cancel.
            transport.on("/one", .ok("late"))
            page.loadOne()
            page.deallocBag.cancelAll()
            await session.agent.waitUntilIdle()
            #expect(page.lines == ["text", "failed"])
        }
    }

    @Test func aBagIsIdleWhenTheClosuresHaveRun() async throws {
        try await withStage { session, transport async throws in
            let (bag, trace) = (DeallocBag(), Trace())
            for _ in 0..<200 {
                transport.enqueue(.ok())
                // On the session's queue, beside this actor.
                session.request("http://h/").onSuccess { _ in trace.add("success") }.onEnd { _ in trace.add("end") }.start(in: bag)
            }
            let child = bag.child()
            transport.enqueue(.ok())
            session.request("http://h/").onEnd { _ in trace.add("end") }.start(in: child)
            await bag.waitUntilIdle()
            #expect(trace.count("end") == 201 && trace.count("success") == 200)
        }
    }

    @Test nonisolated func aBagThatARunWasPutInIsNotIdleWhileAClosureRuns() async throws {
        try await withStage { session, transport async throws in
            let (bag, second, third) = (DeallocBag(), DeallocBag(), DeallocBag())
            let (trace, letGo) = (Trace(), DispatchSemaphore(value: 0))
            let run = session.request("http://h/").onSuccess { _ in
                trace.add("inside")
                letGo.wait()
                trace.add("outside")
            }.start(in: bag)
            await transport.waitForStarts(1)
            #expect(second.insert(run) && third.insert(run))
            transport.succeed(transport.started[0])
            await trace.wait(for: 1)
            for bag in [bag, second, third] { #expect(bag.storage.nextEnding() != nil) }
            letGo.signal()
            for bag in [bag, second, third] {
                await bag.waitUntilIdle()
                #expect(trace.count("outside") == 1)
                #expect(bag.storage.nextEnding() == nil)
            }
        }
    }

    @Test func waitingHearsOfACancel() async throws {
        try await withStage { session, transport async throws in
            let bag = DeallocBag()
            session.request("http://h/").start(in: bag)
            await transport.waitForStarts(1)
            let wait = Task { await bag.waitUntilIdle() }
            wait.cancel()
            await wait.value
            #expect(bag.count == 1)
            bag.cancelAll()
            await bag.waitUntilIdle()
        }
    }
}
