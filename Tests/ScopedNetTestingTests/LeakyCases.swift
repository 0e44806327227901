import Foundation
import ScopedNet
import ScopedNetTesting
import XCTest

/// Leak on purpose where they are told to (by `LeakCheckedTestCaseFailureTests`); else they show that the same code passes when it cleans up.
final class LeakyCases: CleanTestCase {
    private final class Tracked: Sendable {}
    private static let attic = Attic()
    private var leaks: Bool { ProcessInfo.processInfo.environment["SCOPEDNET_LEAK_ON_PURPOSE"] != nil }
    override var isCleanInTheEnd: Bool { !leaks }
    override var leakDeadline: Duration { leaks ? .milliseconds(20) : .seconds(1) }

    override func tearDown() {
        if !leaks { Self.attic.clear() }
    }

    func testLeavesARequestBehind() {
        Self.attic.keep(mockedSession().request("http://h/"))
    }

    func testForgetsAStart() {
        let request = mockedSession(MockTransport { _ in .ok() }).request("http://h/forgotten").onEnd { _ in }
        if !leaks { request.start() }
    }

    func testLeavesACycleBehind() {
        if leaks {
            Cycle.make()
            Cycle.cover()
        }
    }

    func testKeepsATrackedObject() {
        Self.attic.keep(track(Tracked()))
    }

    func testAnOwnerStays() {
        let transport = MockTransport(unanswered: .wait)
        let session = mockedSession(transport)
        if !leaks { transport.on("/clinging", .ok()) }
        assertDeallocates(within: leakDeadline) {
            ClingingModel(session)
        } after: {
            $0.load()
        }
        session.agent.cancelAll()
    }

    @MainActor func testAnOwnerStaysInAnAsynchronousTest() async {
        let transport = MockTransport(unanswered: .wait)
        let session = mockedSession(transport)
        if !leaks { transport.on("/clinging", .ok()) }
        await expectDeallocates(within: leakDeadline) {
            ClingingModel(session)
        } after: {
            $0.load()
        }
        session.agent.cancelAll()
    }

    func testAnotherEndSeesNothing() throws {
        let session = mockedSession()
        let leaks = leaks
        try assertScopeCancels(within: leakDeadline) {
            TidyModel(session)
        } after: {
            $0.load()
        } seenBy: {
            if leaks { try await Task.sleep(for: .seconds(60)) }
        }
    }

    func testAnotherEndCannotBeAsked() throws {
        struct Unreachable: Error {}
        let session = mockedSession()
        let leaks = leaks
        try assertScopeCancels(within: .seconds(60)) {
            TidyModel(session)
        } after: {
            $0.load()
        } seenBy: {
            if leaks { throw Unreachable() }
        }
    }

    func testARequestOutlivesItsOwner() {
        let session = mockedSession()
        if leaks {
            assertScopeCancels(within: leakDeadline) {
                CarelessModel(session)
            } after: {
                $0.load()
            }
        } else {
            assertScopeCancels {
                TidyModel(session)
            } after: {
                $0.load()
            }
        }
        session.agent.cancelAll()
    }
}
