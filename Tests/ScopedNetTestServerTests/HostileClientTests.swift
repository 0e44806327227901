import CleanSlate
import ScopedNetTestServer
import Testing

@Suite(.leavesNothing, .timeLimit(.minutes(1)))
struct HostileClientTests {
    private static let messages: [[UInt8]] = [
        [],
        Array("GET".utf8),
        Array("GET / HTTP/9.9\r\n\r\n".utf8),
        Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8),
        Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [UInt8](repeating: 0xFF, count: 100),
        // SETTINGS, then a DATA frame for a stream that was never opened.
        Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 7, 65],
        Array("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -5\r\n\r\n".utf8),
        Array("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".utf8),
        Array("GET / HTTP/1.1\r\nX: \(String(repeating: "x", count: 200_000))\r\n\r\n".utf8),
        Array("CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\n\r\n".utf8),
        Array("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nabc".utf8),
        [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xFC],
        (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 37) },
    ]

    @Test(arguments: ["http1", "http2", "tls"])
    func nothingAClientSendsBringsTheServerDown(_ kind: String) async throws {
        var configuration = LoopbackServer.Configuration()
        if kind == "http2" { configuration.protocols = [.http2] }
        if kind == "tls" { configuration.tls = try TestAuthority().makeServerIdentity() }
        try await withServer(configuration) { server in
            server.on("/*", .ok("alive"))
            for message in Self.messages {
                let client = try RawClient(port: server.port)
                client.send(message)
                client.close()
            }

            let flags = kind == "http2" ? ["--http2-prior-knowledge"] : ["-k"]
            #expect(try await Curl(flags + [server.url + "/"]).result().output == "alive")
            try await server.waitForOpenConnections { $0 == 0 }
            #expect(server.concurrentRequests == 0)
            #expect(server.connectionsAccepted == Self.messages.count + 1)
        }
    }

    @Test func nothingAClientSendsBringsTheProxyDown() async throws {
        let proxy = LoopbackProxy()
        try await proxy.start()
        for message in Self.messages {
            let client = try RawClient(port: proxy.port)
            client.send(message)
            client.close()
        }
        #expect(try await curl("-x", proxy.url, "-w", "%{http_code}", "http://127.0.0.1:1/").output == "502")
        try await proxy.waitForOpenConnections { $0 == 0 }
        await proxy.stop()
    }
}
