import CleanSlate
import Foundation
import ScopedNetTestServer
import ScopedNetTesting
import Testing

@_spi(Transport) @testable import ScopedNet

/// A channel's way to its server is that of a request: pins, strict transport security, proxies, clocks and cancels.
@Suite(.leavesNothing, .timeLimit(.minutes(3))) struct ChannelRouteTests {
    /// Asks by hand over a channel to a server of HTTP.
    private func answer(_ channel: DuplexChannel) async throws -> String {
        try await channel.send(Data("GET /a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8))
        var all = Data()
        for try await piece in channel.bytes { all += piece }
        return String(decoding: all, as: UTF8.self)
    }

    /// Nothing comes back.
    private static let mute: @Sendable (RawConnection, Int) -> Void = { connection, _ in connection.drain() }

    @Test(arguments: [SecurityPolicy.Mode.enforce, .reportOnly]) func pinsHold(mode: SecurityPolicy.Mode) async throws {
        let authority = try TestAuthority()
        try await withWire(.tls(authority)) {
            $0.tls.certificateAuthority = .pem(authority.certificatePEM)
            $0.security = SecurityPolicy(.publicKeys([TestChains.spare], mode: mode))
        } _: { wire async throws in
            wire.server.on("/a", .ok("there"))
            let url = "https://localhost:\(wire.server.port)/"
            if mode == .reportOnly {
                let channel = try await DuplexChannel.open(url, with: wire.session)
                #expect(channel.trustReport?.reason == .pinMismatch && channel.trustReport?.isReportOnly == true)
                #expect(try await answer(channel).hasSuffix("there"))
            } else {
                let error = await #expect(throws: NetworkError.self) { try await DuplexChannel.open(url, with: wire.session) }
                #expect(error?.code == .pinMismatch && wire.server.requests.isEmpty)
            }
        }
    }

    @Test func aHostThatWantsTLSGetsIt() async throws {
        let authority = try TestAuthority()
        let identity = try authority.makeServerIdentity(hosts: ["a.invalid"])
        try await withLoopbackServer(.init(tls: identity, protocols: [.http1])) { server async throws in
            server.on("/*", ScriptedResponse.ok("secure").header("Strict-Transport-Security", "max-age=1000"))
            try await withSession {
                $0.hsts = Session.HSTSStore()
                $0.tls.certificateAuthority = .pem(authority.certificatePEM)
                $0.connectsTo = [.init(port: 443, to: "127.0.0.1", toPort: server.port)]
            } _: { session async throws in
                _ = try await session.send("https://a.invalid/")
                let channel = try await DuplexChannel.open("http://a.invalid/", with: session)
                #expect(try await answer(channel).hasSuffix("secure") && channel.trustReport == nil)
            }
        }
    }

    @Test(arguments: [LoopbackProxy.Configuration.Kind.http, .socks5], [nil, "right", "wrong"])
    func aProxyIsShownItsCredentials(kind: LoopbackProxy.Configuration.Kind, password: String?) async throws {
        try await withRawServer({ connection, _ in while let byte = connection.read(1), connection.send(byte) {} }) { server, _ in
            try await withLoopbackProxy(.init(kind, credentials: .init(user: "ann", password: "right"))) { proxy async throws in
                try await withSession {
                    $0.proxy = .explicit(url: proxy.url, credentials: password.map { .init(user: "ann", password: $0) })
                } _: { session async throws in
                    let url = "http://127.0.0.1:\(server.port)/"
                    guard password == "right" else {
                        let error = await #expect(throws: NetworkError.self) { try await DuplexChannel.open(url, with: session) }
                        #expect(error?.code == .proxyFailed && server.accepted == 0)
                        return
                    }
                    let channel = try await DuplexChannel.open(url, with: session)
                    try await channel.send(Data("hello".utf8))
                    var (bytes, all) = (channel.bytes.makeAsyncIterator(), Data())
                    while all.count < 5, let piece = try await bytes.next() { all += piece }
                    #expect(all == Data("hello".utf8))
                    channel.cancel()
                }
                try await proxy.waitForOpenConnections { $0 == 0 }
            }
        }
    }

    private enum End: CaseIterable { case task, bag, shutdown, clock }

    /// The server has accepted, and never shakes hands.
    @Test(arguments: End.allCases) private func itEndsWhileItConnects(_ end: End) async throws {
        let hasHello = Latch()
        let server = try RawServer { connection, _ in
            _ = connection.read(1)
            hasHello.open()
            connection.drain()
        }
        defer { server.stop() }
        try await withSession {
            if end == .clock { $0.options.timeouts.connect = .milliseconds(200) }
        } _: { session in
            let bag = DeallocBag()
            let opening = Task { () -> NetworkError? in
                do throws(NetworkError) {
                    _ = try await DuplexChannel.open("https://127.0.0.1:\(server.port)/", with: session, in: bag)
                    return nil
                } catch { return error }
            }
            await hasHello.wait()
            // The network's change takes nothing away from it.
            session.transport.networkChanged()
            switch end {
            case .task: opening.cancel()
            case .bag: bag.end()
            case .shutdown: await session.shutdown()
            case .clock: break
            }
            let error = try #require(await opening.value)
            switch end {
            case .task: #expect(error.cancelReason == .taskCancelled)
            case .bag: #expect(error.cancelReason == .ownerReleased)
            case .shutdown: #expect(error.cancelReason == .shutdown)
            case .clock: #expect(error.code == .connectTimeout)
            }
            await session.agent.waitUntilIdle()
            #expect(bag.count == 0)
            // The transfer gives its slot back a moment later.
            await eventually { session.link.liveAdmission.activeCount == 0 }
        }
    }
}
