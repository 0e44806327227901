import CleanSlate
import ScopedNetTestServer
import Testing

@Suite(.leavesNothing, .timeLimit(.minutes(1)))
struct LoopbackProxyTests {
    private func withProxy(
        _ configuration: LoopbackProxy.Configuration = .init(), _ test: (LoopbackProxy) async throws -> Void
    ) async throws {
        let proxy = LoopbackProxy(configuration)
        try await proxy.start()
        do {
            try await test(proxy)
        } catch {
            await proxy.stop()
            throw error
        }
        await proxy.stop()
        #expect(proxy.openConnections == 0)
    }

    @Test func forwardsAndRecords() async throws {
        try await withServer { server async throws in
            try await withProxy(.init(hosts: ["nowhere.test": server.port])) { proxy async throws in
                server.on("/path", .ok("origin"))

                let result = try await curl("-x", proxy.url, "-d", "body", "http://nowhere.test/path?q=1")

                #expect(result.output == "origin")
                let seen = try await proxy.takeRequest()
                #expect(seen.target == "http://nowhere.test/path?q=1")
                let arrived = try await server.takeRequest()
                _ = try await arrived.ending()
                _ = try await seen.ending()
                #expect(seen.bodyBytesSent == arrived.bytesSent)
                #expect(arrived.target == "/path?q=1")
                #expect(arrived["host"] == "nowhere.test")
                #expect(arrived["via"] == "1.1 loopback")
                #expect(arrived.text == "body")
            }
        }
    }

    @Test func tunnelsForThoseWhoKnowThePassword() async throws {
        let authority = try TestAuthority()
        let trust = TemporaryFile(authority.certificatePEM)
        try await withServer(.init(tls: try authority.makeServerIdentity())) { server async throws in
            try await withProxy(.init(credentials: .init(user: "ann", password: "pass"))) { proxy async throws in
                server.on("/", .ok("tunnelled"))
                let request = ["-x", proxy.url, "--cacert", trust.path, server.url + "/"]

                let stranger = try await Curl(request).result()
                let friend = try await Curl(request + ["--proxy-user", "ann:pass"]).result()

                #expect(stranger.exitCode != 0)
                #expect(stranger.errors.contains("407"))
                #expect(friend.output == "tunnelled", "\(friend.errors)")
                #expect(server.requests.count == 1)
                #expect(server.requests.first?["proxy-authorization"] == nil)
                #expect(proxy.requests.map(\.method) == ["CONNECT", "CONNECT"])
                #expect(proxy.requests.last?.target == "localhost:\(server.port)")
            }
        }
    }

    @Test func departedClientTakesItsTunnelWithIt() async throws {
        try await withServer { server async throws in
            try await withProxy { proxy async throws in
                server.on("/", .ok(.repeating(65, count: 1 << 30)).stalling(.afterBytes(1 << 20)))
                let client = try Curl(["-p", "-x", proxy.url, server.url, "-o", "/dev/null"])
                try await server.waitForStalls()

                client.kill()

                #expect(try await server.takeRequest().ending() == .clientClosed)
                #expect(try await proxy.takeRequest().ending() == .clientClosed)
                _ = await client.result()
            }
        }
    }

    @Test func refusesAndFails() async throws {
        try await withProxy(.init(refusal: 403)) { proxy async throws in
            #expect(try await curl("-x", proxy.url, "-w", "%{http_code}", "http://nowhere.test/").output == "403")
        }
        try await withProxy(.init(hosts: ["nowhere.test": 1])) { proxy async throws in
            #expect(try await curl("-x", proxy.url, "-w", "%{http_code}", "http://nowhere.test/").output == "502")
        }
    }
}
