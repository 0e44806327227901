import Foundation
@_spi(Transport) import ScopedNet
@_spi(Transport) import ScopedNetTesting
import XCTest

/// An owner whose request starts in a task, after the call that makes the task.
@MainActor private final class SteppedModel: RequestOwner {
    nonisolated let deallocBag = DeallocBag()
    private let session: Session

    init(_ session: Session) { self.session = session }

    func load() {
        deallocBag.task(for: self) { [session] in
            try await session.get("http://h/").value()
        } onSuccess: { _, _ in
        }
    }
}

/// The XCTest forms in XCTest itself.
final class LeakCheckedTestCaseTests: CleanTestCase {
    // Made in `setUp`, let go in `tearDown`: not blamed.
    private var session: Session?
    private var model: TidyModel?

    override func setUp() {
        let session = mockedSession()
        self.session = session
        model = track(TidyModel(session))
    }

    override func tearDown() {
        model = nil
        session = nil
    }

    func testAModelGoes() throws {
        let session = try XCTUnwrap(session)
        assertDeallocates {
            TidyModel(session)
        } after: {
            $0.load()
        }
    }

    func testItsRequestsEndWithIt() throws {
        let session = try XCTUnwrap(session)
        assertScopeCancels {
            TidyModel(session)
        } after: {
            $0.load()
        }
    }

    @MainActor func testTheRequestOfATaskIsWaitedFor() {
        let transport = MockTransport(unanswered: .wait)
        let session = mockedSession(transport)
        assertScopeCancels(within: .seconds(60)) {
            SteppedModel(session)
        } after: {
            $0.load()
        }
        // The model may go while the transfer of its request is handed over. Then the cancel and the hand-over each tell the transport to end it, or
        // the transfer is never handed over: there is nothing to count, but nothing may go on.
        let ended = expectation(description: "no transfer goes on")
        Task {
            while !transport.exchanges.allSatisfy({ $0.isCancelled && $0.isEnded }) { await Task.yield() }
            ended.fulfill()
        }
        wait(for: [ended], timeout: 30)
    }

    func testTheOtherEndSeesThemGo() throws {
        let transport = MockTransport(unanswered: .wait)
        let session = mockedSession(transport)
        try assertScopeCancels(within: .seconds(60)) {
            TidyModel(session)
        } after: { model in
            model.load()
            model.load()
            let arrived = expectation(description: "both are under way")
            Task {
                await transport.waitForExchanges(2)
                arrived.fulfill()
            }
            wait(for: [arrived], timeout: 30)
        } seenBy: {
            // When it is asked, the transport has been told already.
            struct NotTold: Error {}
            if transport.cancellations.count != 2 { throw NotTold() }
        }
    }

    @MainActor func testTheSameWithAnAwait() async throws {
        let session = mockedSession()
        await expectDeallocates {
            TidyModel(session)
        } after: {
            $0.load()
        }
        await expectScopeCancels {
            TidyModel(session)
        } after: {
            $0.load()
        }
        await expectNoGrowth { TidyModel(session).load() }
    }

    func testRoundsDoNotGrow() throws {
        let session = try XCTUnwrap(session)
        assertNoGrowth { TidyModel(session).load() }
    }

    func testCallbacksOfTheMainQueueGoOnWhileItWaits() {
        let transport = MockTransport { _ in .ok() }
        let session = mockedSession(transport) { _ in }
        let main = session.with { $0.deliveryQueue = .main }
        assertDeallocates {
            ClingingModel(main)
        } after: {
            $0.load()
        }
    }
}
