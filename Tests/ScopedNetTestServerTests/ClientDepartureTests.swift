import CleanSlate
import ScopedNetTestServer
import Testing

/// The server's main use as a witness: it notices the client leave, and its counters stand still from then on.
@Suite(.leavesNothing, .timeLimit(.minutes(1)))
struct ClientDepartureTests {
    @Test func stalledResponseEndsWhenTheClientLeaves() async throws {
        try await withServer { server async throws in
            server.on("/", .ok(.repeating(65, count: 100 << 20)).stalling(.afterBytes(100_000)))
            let client = try Curl([server.url, "-o", "/dev/null"])
            try await server.waitForStalls()

            client.kill()

            let request = try await server.takeRequest()
            #expect(try await request.ending() == .clientClosed)
            #expect(request.bodyBytesSent == 100_000)
            server.releaseStalls()
            try await server.waitForOpenConnections { $0 == 0 }
            #expect(request.bodyBytesSent == 100_000)
            _ = await client.result()
        }
    }

    @Test func bytesStopWhenTheClientLeavesInTheMiddle() async throws {
        try await withServer { server async throws in
            server.on("/", .ok(.repeating(65, count: 1 << 30)))
            let client = try RawClient(port: server.port)
            client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            let request = try await server.takeRequest()
            try await request.waitForBodyBytesSent(64 * 1024)

            client.close()

            #expect(try await request.ending() == .clientClosed)
            let total = server.bytesSent
            #expect(total == request.bytesSent)
            #expect(request.bodyBytesSent < 1 << 30)
            try await server.waitForOpenConnections { $0 == 0 }
            #expect(server.bytesSent == total)
        }
    }

    @Test func waitingHandlerIsCancelled() async throws {
        try await withServer { server async throws in
            let (cancelled, continuation) = AsyncStream.makeStream(of: Bool.self)
            server.on("/") { _ in
                // Nothing is waited for here: a handler that would answer in an hour must be cancelled before, and the sleep throws then.
                try? await Task.sleep(for: .seconds(3600))
                continuation.yield(Task.isCancelled)
                return .ok()
            }
            let client = try Curl([server.url])
            let request = try await server.takeRequest()

            client.kill()

            #expect(try await request.ending() == .clientClosed)
            #expect(await cancelled.first { _ in true } == true)
            #expect(request.bytesSent == 0)
            _ = await client.result()
        }
    }

    @Test func uploadStopsWhenTheClientLeaves() async throws {
        try await withServer { server in
            server.on("/up", .ok().stalling(.beforeHead).with { $0.requestBody = .receiveWhileAnswering })
            let client = try Curl([server.url + "/up", "-H", "Expect:", "-T", "/dev/zero"])
            let request = try await server.takeRequest()
            try await request.waitForBodyBytesReceived(1 << 20)

            client.kill()

            #expect(try await request.ending() == .clientClosed)
            _ = await client.result()
        }
    }

    @Test func unreadUploadStandsStill() async throws {
        try await withServer { server in
            server.on("/up", .ok().stalling(.beforeHead).with { $0.requestBody = .leaveUnread })
            let client = try Curl([server.url + "/up", "-H", "Expect:", "-T", "/dev/zero"])
            let request = try await server.takeRequest()
            try await server.waitForStalls()

            await server.stop()

            #expect(request.bodyBytesReceived == 0)
            #expect(request.ended == .serverStopped)
            #expect(await client.result().exitCode != 0)
        }
    }

    @Test func uploadCutInTheMiddleIsRecorded() async throws {
        try await withServer { server async throws in
            let client = try RawClient(port: server.port)
            client.send("PUT /up HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n12345")
            client.close()

            let request = try await server.takeRequest()

            #expect(request.text == "12345")
            #expect(try await request.ending() == .clientClosed)
        }
    }

    @Test func stopEndsWhatIsUnderWay() async throws {
        let server = LoopbackServer()
        server.on("/", .ok("never").stalling(.afterHead))
        try await server.start()
        let client = try Curl([server.url])
        try await server.waitForStalls()

        await server.stop()

        #expect(server.openConnections == 0)
        #expect(server.requests.first?.ended == .serverStopped)
        #expect(await client.result().exitCode == 18)
    }
}
