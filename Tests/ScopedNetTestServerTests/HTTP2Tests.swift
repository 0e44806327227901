import CleanSlate
import ScopedNetTestServer
import Testing

@Suite(.leavesNothing, .timeLimit(.minutes(1)))
struct HTTP2Tests {
    private func configuration() throws -> LoopbackServer.Configuration {
        .init(tls: try TestAuthority().makeServerIdentity(), protocols: [.http2, .http1])
    }

    @Test func negotiatesOverTLS() async throws {
        try await withServer(configuration()) { server async throws in
            server.on("/", .ok("two").with { $0.trailers = ["x-sum": "3"] })

            let new = try await curl("-k", "--http2", "-d", "payload", "-w", " %{http_version}", server.url + "/?q=1")
            let old = try await curl("-k", "--http1.1", "-w", " %{http_version}", server.url + "/")

            #expect(new.output == "two 2")
            #expect(old.output == "two 1.1")
            let request = try await server.takeRequest()
            #expect(request.streamID == 1)
            #expect(request.httpVersion == "2")
            #expect(request["host"] == "localhost:\(server.port)")
            #expect(request.query == "q=1")
            #expect(request.text == "payload")
            #expect(request.tls?.applicationProtocol == "h2")
            #expect(try await server.takeRequest().streamID == nil)
        }
    }

    @Test func manyStreamsShareAConnection() async throws {
        try await withServer(configuration()) { server async throws in
            server.on("/*", .ok("x").delayed(by: .milliseconds(20)))

            let result = try await curl("-k", "--http2", "-Z", server.url + "/[1-20]")

            #expect(result.output == String(repeating: "x", count: 20))
            #expect(server.connectionsAccepted < 20)
            #expect(server.maxConcurrentRequests > 1)
        }
    }

    /// curl's exit code 92: stream not closed cleanly.
    @Test func truncatedStreamIsReset() async throws {
        try await withServer(configuration()) { server async throws in
            server.on("/cut", .ok("0123456789").ending(.truncate(afterBytes: 4)))
            server.on("/raw", .raw("anything"))
            for path in ["/cut", "/raw"] {
                let result = try await curl("-k", "--http2", server.url + path)
                #expect(result.exitCode == 92, "\(path): \(result.errors)")
            }
            #expect(server.requests.first?.bodyBytesSent == 4)
            #expect(server.requests.first?.ended == .cutByScript)
        }
    }

    /// REFUSED_STREAM says that nothing was done, so a client may try again, and curl does.
    @Test func refusedStreamIsTriedAgain() async throws {
        try await withServer(configuration()) { server async throws in
            server.on("/", .ok("second try"))
            server.enqueue(.failing)

            #expect(try await curl("-k", "--http2", server.url + "/").output == "second try")
            #expect(server.requests.count == 2)
        }
    }

    @Test func connectionResetTakesTheStreamsWithIt() async throws {
        try await withServer(configuration()) { server async throws in
            server.on("/", .ok("0123456789").ending(.reset(afterBytes: 4)))

            #expect(try await curl("-k", "--http2", server.url + "/").exitCode != 0)
            #expect(try await server.takeRequest().ending() == .cutByScript)
        }
    }

    @Test func closingResponseSaysGoAway() async throws {
        try await withServer(configuration()) { server async throws in
            server.on("/", .ok("x").ending(.close))

            let result = try await curl("-k", "--http2", server.url + "/", server.url + "/")

            #expect(result.output == "xx", "\(result.errors)")
            #expect(server.connectionsAccepted == 2)
        }
    }

    @Test func stalledStreamEndsWhenTheClientLeaves() async throws {
        try await withServer(configuration()) { server async throws in
            server.on("/", .ok(.repeating(65, count: 10 << 20)).stalling(.afterBytes(100_000)))
            let client = try Curl(["-k", "--http2", server.url, "-o", "/dev/null"])
            try await server.waitForStalls()

            client.kill()

            let request = try await server.takeRequest()
            #expect(try await request.ending() == .clientClosed)
            #expect(request.bodyBytesSent == 100_000)
            _ = await client.result()
        }
    }

    @Test func largeBodyGoesThroughFlowControl() async throws {
        try await withServer(configuration()) { server async throws in
            server.on("/", .ok(.repeating(65, count: 10 << 20)))

            let result = try await curl("-k", "--http2", "-o", "/dev/null", "-w", "%{size_download}", server.url + "/")

            #expect(result.output == String(10 << 20))
            let request = try await server.takeRequest()
            #expect(try await request.ending() == .completed)
            #expect(request.bodyBytesSent == 10 << 20)
        }
    }

    @Test func interimHeadsWork() async throws {
        try await withServer(configuration()) { server async throws in
            server.on("/", .ok("x").with { $0.interimHeads = [.init(status: 103, headers: ["link": "</s.css>"])] })

            let result = try await curl("-k", "--http2", "-i", server.url + "/")

            #expect(result.output.hasPrefix("HTTP/2 103 \r\nlink: </s.css>\r\n\r\nHTTP/2 200 \r\n"))
        }
    }

    /// Spoken by hand over h2c, because no command line client resets a stream and stays.
    @Test func streamResetByTheClientIsNoticed() async throws {
        try await withServer(.init(protocols: [.http2])) { server async throws in
            server.on("/", .ok("0123456789").stalling(.afterBytes(4)))
            let client = try RawClient(port: server.port)
            client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            client.send([0, 0, 0, 4, 0, 0, 0, 0, 0])  // SETTINGS, empty
            // HEADERS on stream 1, ending it: :method GET, :scheme http, :path /, and :authority h, by the table of HPACK.
            client.send([0, 0, 6, 1, 5, 0, 0, 0, 1, 0x82, 0x86, 0x84, 0x01, 0x01, 0x68])
            let request = try await server.takeRequest()
            try await server.waitForStalls()

            client.send([0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 8])  // RST_STREAM, CANCEL

            #expect(try await request.ending() == .streamReset)
            #expect(request.bodyBytesSent == 4)
            #expect(server.openConnections == 1)
            client.close()
        }
    }

    @Test func speaksByPriorKnowledge() async throws {
        try await withServer(.init(protocols: [.http2])) { server async throws in
            server.on("/", .ok("plain two"))

            #expect(try await curl("--http2-prior-knowledge", server.url + "/").output == "plain two")
        }
    }
}
