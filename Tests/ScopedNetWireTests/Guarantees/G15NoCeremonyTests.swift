import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@_spi(Transport) @testable import ScopedNet

/// G15: no mandatory shutdown. A session nobody uses goes away with its thread and sockets.
@Suite(.leavesNothing, .serialized) struct G15NoCeremonyTests {
    // Defect 1
    @Test func aDroppedSessionTakesItsThreadAndSocketsAlong() async throws {
        let server = LoopbackServer()
        try await server.start()
        server.on("/a", .ok("x"))
        weak var weakTransport: CurlTransport?
        do {
            var configuration = Session.Configuration(agent: RequestAgent())
            configuration.proxy = .none
            let session = Session(configuration: configuration)
            weakTransport = session.transport as? CurlTransport
            _ = try await session.send(server.url + "/a")
            #expect(server.openConnections == 1)
        }
        try await server.waitForOpenConnections { $0 == 0 }
        #expect(weakTransport == nil)
        await server.stop()
    }

    @Test func aSessionDroppedWhileARequestRunsStillFinishesIt() async throws {
        let server = LoopbackServer()
        try await server.start()
        server.on("/a", .ok("x").stalling(.beforeHead))
        let trace = Trace()
        let agent = RequestAgent()
        do {
            var configuration = Session.Configuration(agent: agent)
            configuration.proxy = .none
            Session(configuration: configuration).request(server.url + "/a").onSuccess { trace.add("\($0.count)") }.start()
        }
        try await server.waitForStalls()
        server.releaseStalls()
        await agent.waitUntilIdle()
        #expect(trace.lines == ["1"])
        try await server.waitForOpenConnections { $0 == 0 }
        await server.stop()
    }

    // YB-1
    @Test func derivedSessionsShareTheTransportUnlessTheNetworkDiffers() {
        let session = Session(configuration: .init(agent: RequestAgent()))
        #expect(session.with { $0.headers[.userAgent] = "x" }.transport === session.transport)
        #expect(session.with { $0.limits.perHost = 3 }.transport !== session.transport)
        #expect(session.with { $0.tls.minimumVersion = .tls13 }.transport !== session.transport)
        #expect(session.with { $0.proxy = .none }.transport !== session.transport)
    }
}
