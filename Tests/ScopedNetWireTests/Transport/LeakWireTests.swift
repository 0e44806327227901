import CleanSlate
import Foundation
import ScopedNetTestServer
import ScopedNetTesting
import Testing

@testable import ScopedNet

/// The leak checks with a real server at the other end, which sees the connections go.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct LeakWireTests {
    private final class Page: RequestOwner, Sendable {
        let deallocBag = DeallocBag()
        func open(_ session: Session, _ url: String) {
            session.request(url).onSuccess(for: self) { _, _ in }.start(for: self)
        }
    }

    @Test(arguments: [ScriptedResponse.Stall.beforeHead, .afterHead, .afterBytes(4)])
    func theServerSeesTheRequestsOfAPageGo(stall: ScriptedResponse.Stall) async throws {
        try await withHouse { house in
            house.server.on("/", .ok("0123456789").stalling(stall))
            try await expectScopeCancels(within: .seconds(10)) {
                Page()
            } after: { page in
                for _ in 0..<3 { page.open(house.session, house.url("/")) }
                try await house.server.waitForStalls(3)
            } seenBy: { [server = house.server] in
                try await server.waitForClientsToLeave()
            }
            #expect(house.server.requests.allSatisfy { $0.ended == .clientClosed })
        }
    }

    @Test(.noLeaks(within: .seconds(10))) func aSessionWithItsRequestsLeavesNothing() async throws {
        try await withHouse { house in
            house.server.on("/", .ok("x"))
            for _ in 0..<3 { _ = try await house.session.request(house.url("/")).value() }
            for try await _ in try await house.session.stream(house.url("/")).bytes {}
        }
    }
}
