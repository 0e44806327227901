import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// Streams have a limit of their own: ``ConnectionLimits/live``.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct LiveLimitTests {
    @Test func sevenOpenStreamsLeaveRoomForAGet() async throws {
        try await withWire { wire async throws in
            wire.server.on("/stream", ScriptedResponse.ok(.repeating(7, count: 1_000)).stalling(.afterBytes(10)))
            wire.server.on("/get", .ok("there"))
            let bag = DeallocBag()
            var streams: [StreamedResponse] = []
            for _ in 0..<7 { streams.append(try await wire.session.stream(wire.url + "/stream", in: bag)) }
            #expect(wire.session.link.liveAdmission.activeCount == 7 && wire.session.admission.activeCount == 0)
            // All six places of the host are free, and libcurl has the connections.
            let gets = (0..<6).map { _ in wire.get("/get") }
            let values = try await wire.session.values(of: gets)
            #expect(values.allSatisfy { $0 == Data("there".utf8) })
            #expect(wire.server.openConnections >= 8)
            withExtendedLifetime(streams) {}
            bag.end()
            await wire.agent.waitUntilIdle()
            wire.server.releaseStalls()
        }
    }

    @Test func theLimitHolds() async throws {
        try await withWire {
            $0.limits.live = 2
            $0.limits.perHost = 1
        } _: { wire async throws in
            wire.server.on("/stream", ScriptedResponse.ok(.repeating(7, count: 1_000)).stalling(.afterBytes(10)))
            let bag = DeallocBag()
            let first = try await wire.session.stream(wire.url + "/stream", in: bag)
            let second = try await wire.session.stream(wire.url + "/stream", in: bag)
            async let third = wire.session.stream(wire.url + "/stream", in: bag)
            await eventually { wire.session.link.liveAdmission.waitingCount != 0 }
            #expect(wire.server.requests.count == 2)
            second.run.cancel()
            let late = try await third
            #expect(late.head.status == 200 && wire.server.requests.count == 3)
            withExtendedLifetime((first, late)) {}
            bag.end()
            await wire.agent.waitUntilIdle()
            wire.server.releaseStalls()
        }
    }
}
