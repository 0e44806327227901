import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// G10: the wire falls silent too.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct G10WireTests {
    // S2-3
    @Test(arguments: ["run", "bag", "handle"])
    func theServerSeesTheClose(how: String) async throws {
        try await withHouse { house in
            house.server.on(
                "/endless", ScriptedResponse(body: .repeating(1, count: 200_000_000)).paced(bytes: 4096, every: .milliseconds(1)))
            var bag: DeallocBag? = DeallocBag()
            var request: Request<Data>? = house.session.request(house.url("/endless"))
            if how == "handle" { _ = request?.options { $0.release = .cancelOnRelease } }
            var run: Run? = request!.start(in: bag!)
            let recorded = try await house.server.takeRequest()
            try await recorded.waitForBodyBytesSent(10_000)
            // Still under way: what closes the connection is the cancel, and no limit on the body.
            #expect(run?.status.stage == .transferring)
            switch how {
            case "run": run?.cancel()
            case "bag": bag = nil
            default: run = nil; request = nil
            }
            #expect(try await recorded.ending() == .clientClosed)
            let sent = recorded.bodyBytesSent
            await house.agent.waitUntilIdle()
            #expect(recorded.bodyBytesSent == sent)
            #expect(sent < 200_000_000)
            _ = (run, request, bag)
        }
    }
}
