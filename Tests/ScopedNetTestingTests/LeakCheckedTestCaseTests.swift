import Foundation
import ScopedNet
import ScopedNetTesting
import XCTest

/// The XCTest forms in XCTest itself.
final class LeakCheckedTestCaseTests: LeakCheckedTestCase {
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
