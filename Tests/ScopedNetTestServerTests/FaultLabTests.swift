import CleanSlate
import ScopedNetTestServer
import Testing

/// The faults, as a client sees them that nobody here wrote.
@Suite(.leavesNothing, .timeLimit(.minutes(1)))
struct FaultLabTests {
    /// curl's exit codes: 1 unsupported, 8 weird reply, 18 partial file, 52 nothing received, 56 receive failure.
    @Test(arguments: [
        (FramingFault.statusLine, [1, 8]), (.headerWithoutColon, [0, 8]), (.nulInHeader, [0, 8]), (.twoLengths, [0, 8, 18]),
        (.negativeLength, [0, 8]),
        (.lengthNotANumber, [0, 8]), (.shortBody, [18]), (.chunkSize, [18, 56]), (.longChunk, [18, 56]), (.noLastChunk, [18]),
        (.unfinishedHead, [18]),
        (.silence, [52]),
    ])
    func brokenFramingIsBrokenForCurlToo(fault: FramingFault, codes: [Int32]) async throws {
        try await withServer { server async throws in
            server.on("/", .malformed(fault))
            let result = try await curl(server.url + "/")
            #expect(codes.contains(result.exitCode), "\(result.exitCode) \(result.errors)")
        }
    }

    @Test func aHeadDrips() async throws {
        try await withServer { server async throws in
            server.on("/", .ok("body").slowHead(bytes: 5, every: .milliseconds(1)))
            let result = try await curl("-i", server.url + "/")
            #expect(result.output.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(result.output.hasSuffix("\r\n\r\nbody"))
            let request = try await server.takeRequest()
            #expect(try await request.ending() == .completed)
            #expect(request.bytesSent == result.output.utf8.count)
        }
    }

    @Test func aHeadThatDripsEndsWithItsClient() async throws {
        try await withServer { server async throws in
            server.on("/", .ok("body").slowHead(every: .seconds(3600)))
            let client = try Curl([server.url])
            let request = try await server.takeRequest()
            client.kill()
            #expect(try await request.ending() == .clientClosed)
            try await server.waitForClientsToLeave()
            // Nothing is counted after the close.
            #expect(request.bytesSent == 1)
        }
    }

    @Test(arguments: [
        Challenge.basic(user: "ann", password: "p:s"), .digest(user: "ann", password: "p:s"),
        .digest(user: "ann", password: "p:s", algorithm: .md5),
    ])
    func userAndPasswordOpenTheDoor(challenge: Challenge) async throws {
        try await withServer { server async throws in
            server.protect("/private*", with: challenge)
            server.enqueue(.ok("inside"), for: "/private/x")
            let url = server.url + "/private/x"
            let stranger = try await curl("-w", "%{http_code}", url)
            let wrong = try await curl("-w", "%{http_code}", "--anyauth", "-u", "ann:wrong", url)
            let friend = try await curl("--anyauth", "-u", "ann:p:s", url)
            #expect(stranger.output == "401")
            #expect(wrong.output == "401")
            // The queued answer was not used up by those who stood outside.
            #expect(friend.output == "inside", "\(friend.errors)")
            let open = try await curl("-w", "%{http_code}", server.url + "/else")
            #expect(open.output == "404")
        }
    }

    @Test func aTokenOpensTheDoor() async throws {
        try await withServer { server async throws in
            server.protect("/", with: .bearer(token: "t0ken"))
            server.on("/", .ok("inside"))
            let refused = try await curl("-i", server.url + "/")
            let friend = try await curl("--oauth2-bearer", "t0ken", server.url + "/")
            #expect(refused.output.contains("401 Unauthorized"))
            #expect(refused.output.contains("WWW-Authenticate: Bearer realm=\"loopback\""))
            #expect(friend.output == "inside")
            server.protect("/", with: nil)
            let open = try await curl(server.url + "/")
            #expect(open.output == "inside")
        }
    }

    @Test func aChangedVersionIsSentWhole() async throws {
        try await withServer { server async throws in
            server.enqueue(.ok("0123456789").tagged("1"))
            server.enqueue(.ok("0123456789").tagged("1"))
            server.enqueue(.ok("abcdefghij").tagged("2"))
            server.enqueue(.ok("abcdefghij").tagged("2"))
            server.enqueue(.ok("abcdefghij").tagged("2"))
            func get(_ fields: String...) async throws -> String {
                try await Curl(["-w", " %{http_code}"] + fields.flatMap { ["-H", $0] } + [server.url + "/"]).result().output
            }
            #expect(try await get("Range: bytes=5-", "If-Range: \"1\"") == "56789 206")
            #expect(try await get("If-None-Match: \"0\", W/\"1\"") == " 304")
            #expect(try await get("Range: bytes=5-", "If-Range: \"1\"") == "abcdefghij 200")
            #expect(try await get("If-Match: \"1\"") == " 412")
            #expect(try await get("If-Match: \"2\"") == "abcdefghij 200")
        }
    }

    // MARK: SOCKS5

    private func withProxy(_ configuration: LoopbackProxy.Configuration, _ test: (LoopbackProxy) async throws -> Void) async throws {
        let proxy = LoopbackProxy(configuration)
        try await proxy.start()
        do { try await test(proxy) } catch {
            await proxy.stop()
            throw error
        }
        await proxy.stop()
        #expect(proxy.openConnections == 0)
    }

    @Test func socksConnectsByName() async throws {
        try await withServer { server async throws in
            server.on("/", .ok("through"))
            try await withProxy(.init(.socks5, hosts: ["nowhere.test": server.port])) { proxy async throws in
                let result = try await curl("-x", proxy.url, "http://nowhere.test:4711/")
                #expect(result.output == "through", "\(result.errors)")
                let seen = try await proxy.takeRequest()
                #expect(seen.method == "SOCKS5")
                #expect(seen.target == "nowhere.test:4711")
                _ = try await seen.ending()
                let arrived = try await server.takeRequest()
                #expect(seen.bodyBytesSent == arrived.bytesSent + 10)
            }
        }
    }

    @Test func socksAsksForThePassword() async throws {
        try await withServer { server async throws in
            server.on("/", .ok("through"))
            try await withProxy(.init(.socks5, credentials: .init(user: "ann", password: "pass"))) { proxy async throws in
                let stranger = try await curl("-x", proxy.url, server.url + "/")
                let wrong = try await curl("-x", proxy.url, "--proxy-user", "ann:wrong", server.url + "/")
                let friend = try await curl("-x", proxy.url, "--proxy-user", "ann:pass", server.url + "/")
                #expect(stranger.exitCode == 97)
                #expect(wrong.exitCode == 97)
                #expect(friend.output == "through", "\(friend.errors)")
                #expect(server.requests.count == 1)
            }
        }
    }

    @Test func socksRefusesAndFails() async throws {
        for configuration in [LoopbackProxy.Configuration(.socks5, refusal: 403), .init(.socks5, hosts: ["nowhere.test": 1])] {
            try await withProxy(configuration) { proxy async throws in
                let result = try await curl("-x", proxy.url, "http://nowhere.test/")
                #expect(result.exitCode == 97)
                let seen = try await proxy.takeRequest()
                #expect(try await seen.ending() == .completed)
            }
        }
    }

    @Test func whatIsNoSocksIsClosed() async throws {
        try await withProxy(.init(.socks5)) { proxy async throws in
            for text in ["GET / HTTP/1.1\r\n\r\n", "\u{5}\u{1}\u{0}\u{4}\u{1}\u{0}\u{1}"] {
                let client = try RawClient(port: proxy.port)
                client.send(text)
                _ = await client.read()
                client.close()
            }
            try await proxy.waitForOpenConnections { $0 == 0 }
        }
    }
}
