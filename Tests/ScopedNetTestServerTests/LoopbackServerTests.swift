import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@Suite(.leavesNothing, .timeLimit(.minutes(1)))
struct LoopbackServerTests {
    @Test func keepsTheConnectionOpenBetweenRequests() async throws {
        try await withServer { server async throws in
            server.on("/a", .ok("first"))
            server.on("/b", .json("{}"))

            let result = try await curl(server.url + "/a", server.url + "/b?x=1&y=2", "-H", "X-Twice: 1", "-H", "X-Twice: 2")

            #expect(result.output == "first{}")
            #expect(server.connectionsAccepted == 1)
            #expect(try await server.takeRequest().path == "/a")
            let second = try await server.takeRequest()
            #expect(second.query == "x=1&y=2")
            #expect(second.headers[all: "x-twice"] == ["1", "2"])
            #expect(second.httpVersion == "1.1")
            #expect(try await second.ending() == .completed)
            #expect(second.bodyBytesSent == 2)
        }
    }

    @Test func queuedResponsesGoBeforeRoutes() async throws {
        try await withServer { server async throws in
            server.on("/files/*", .ok("prefix"))
            server.on("/files/one", .ok("exact"))
            server.enqueue(.ok("any"))
            server.enqueue(.ok("own"), for: "/files/one")

            let one = server.url + "/files/one"
            let result = try await curl(one, one, one, server.url + "/files/two", server.url + "/none", "-w", "%{http_code} ")

            #expect(result.output == "own200 any200 exact200 prefix200 404 ")
        }
    }

    @Test func handlerSeesTheWholeRequest() async throws {
        try await withServer { server async throws in
            server.on("/echo") { request in
                .ok("\(request.method) \(request.text) \(request["content-type"] ?? "")")
            }

            let body = ["-X", "PUT", "-H", "Content-Type: a/b", "-H", "Transfer-Encoding: chunked", "-d", "payload"]
            let result = try await Curl(body + [server.url + "/echo"]).result()

            #expect(result.output == "PUT payload a/b")
        }
    }

    @Test func chunkedResponseCarriesTrailers() async throws {
        try await withServer { server async throws in
            server.enqueue(.ok("hello").framed(.chunked).ending(.close).with { $0.trailers = ["X-Sum": "5"] })
            let client = try RawClient(port: server.port)
            client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")

            let response = await client.read()

            #expect(response.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(response.hasSuffix("\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 5\r\n\r\n"))
            #expect(try await server.takeRequest().bytesSent == response.utf8.count)
            client.close()
        }
    }

    @Test func rawBytesThatEndThemselvesLeaveTheConnectionOpen() async throws {
        try await withServer { server async throws in
            let bytes = "HTTP/1.1 200 \r\nContent-Length: 1\r\n\r\nx"
            server.enqueue(.raw(bytes).ending(.keepAlive))
            server.enqueue(.raw(bytes))
            let client = try RawClient(port: server.port)
            for _ in 0..<2 { client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n") }

            #expect(await client.read() == bytes + bytes)
            #expect(server.connectionsAccepted == 1)
            client.close()
        }
    }

    @Test func headHasTheLengthAndNoBody() async throws {
        try await withServer { server async throws in
            server.on("/", .ok("hello"))
            let client = try RawClient(port: server.port)
            client.send("HEAD / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")

            let response = await client.read()

            #expect(response.contains("Content-Length: 5\r\n"))
            #expect(response.hasSuffix("\r\n\r\n"))
            client.close()
        }
    }

    @Test func oldClientsGetTheirConnectionClosed() async throws {
        try await withServer { server async throws in
            server.on("/", .ok("hello").framed(.chunked))
            let client = try RawClient(port: server.port)
            client.send("GET / HTTP/1.0\r\n\r\n")

            let response = await client.read()

            #expect(response.contains("Connection: close\r\n"))
            #expect(response.hasSuffix("\r\n\r\nhello"))
            client.close()
        }
    }

    @Test func pipelinedRequestsAreAnsweredInOrder() async throws {
        try await withServer { server async throws in
            server.on("/slow", .ok("slow").stalling(.beforeHead))
            server.on("/fast", .ok("fast"))
            let client = try RawClient(port: server.port)
            client.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\nGET /fast HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            try await server.waitForRequests(2)
            try await server.waitForStalls()
            #expect(server.bytesSent == 0)

            server.releaseStalls()

            let response = await client.read()
            let slow = try #require(response.range(of: "slow"))
            let fast = try #require(response.range(of: "fast"))
            #expect(slow.lowerBound < fast.lowerBound)
            #expect(server.maxConcurrentRequests == 2)
            client.close()
        }
    }

    @Test func expectationIsMetOrRefused() async throws {
        try await withServer { server async throws in
            server.on("/welcome", .ok("thanks"))
            server.on("/refused", .status(413).with { $0.requestBody = .receiveWhileAnswering })
            let upload = ["-v", "-H", "Expect: 100-continue", "-d", "payload"]

            let welcome = try await Curl(upload + [server.url + "/welcome"]).result()
            let refused = try await Curl(upload + [server.url + "/refused"]).result()

            #expect(welcome.errors.contains("100 Continue"))
            #expect(welcome.output == "thanks")
            #expect(refused.errors.contains("413"))
            #expect(!refused.errors.contains("100 Continue"))
            let requests = server.requests
            #expect(requests.map(\.text) == ["payload", ""])
            #expect(requests[1].bodyBytesReceived == 0)
        }
    }

    @Test func interimHeadsComeFirst() async throws {
        try await withServer { server async throws in
            server.enqueue(
                .ok("x").ending(.close).with { $0.interimHeads = [.init(status: 103, headers: ["Link": "</s.css>"])] })
            let client = try RawClient(port: server.port)
            client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")

            let response = await client.read()

            #expect(response.hasPrefix("HTTP/1.1 103 Early Hints\r\nLink: </s.css>\r\n\r\nHTTP/1.1 200 OK\r\n"))
            client.close()
        }
    }

    @Test func nonsenseIsABadRequest() async throws {
        try await withServer { server async throws in
            let client = try RawClient(port: server.port)
            client.send("complete nonsense\r\n\r\n")

            #expect(await client.read().hasPrefix("HTTP/1.1 400 "))
            #expect(server.requests.isEmpty)
            client.close()
        }
    }

    @Test func streamedBodyArrivesAsItIsYielded() async throws {
        try await withServer { server async throws in
            let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self)
            server.enqueue(.ok(.stream(stream)))
            let client = try RawClient(port: server.port)
            client.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")

            continuation.yield(Array("first".utf8))
            let begin = await client.read { $0.hasSuffix("5\r\nfirst\r\n") }
            continuation.yield(Array("last".utf8))
            continuation.finish()
            let rest = await client.read()

            #expect(begin.contains("Transfer-Encoding: chunked"))
            #expect(rest == "4\r\nlast\r\n0\r\n\r\n")
            client.close()
        }
    }

    @Test func pacedBodyComesInPieces() async throws {
        try await withServer { server async throws in
            server.enqueue(.slow("abcdef", bytes: 2, every: .milliseconds(30)))
            let begin = ContinuousClock.now

            let result = try await curl(server.url)

            #expect(result.output == "abcdef")
            #expect(ContinuousClock.now - begin >= .milliseconds(60))
        }
    }

    @Test func largeBodyIsMadeAsItIsSent() async throws {
        try await withServer { server async throws in
            server.enqueue(.ok(.repeating(65, count: 100 << 20)))

            let result = try await curl(server.url, "-o", "/dev/null", "-w", "%{size_download}")

            #expect(result.output == String(100 << 20))
            #expect(try await server.takeRequest().bodyBytesSent == 100 << 20)
        }
    }

    @Test func listensOnAUnixSocket() async throws {
        let path = FileManager.default.temporaryDirectory.path + "/loopback-\(UUID().uuidString)"
        try await withServer(.init(listen: .unixSocket(path))) { server async throws in
            server.on("/", .ok("unix"))

            #expect(try await curl("--unix-socket", path, server.url + "/").output == "unix")
        }
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func listensOnIPv6() async throws {
        try await withServer(.init(listen: .ipv6)) { server async throws in
            server.on("/", .ok("six"))

            #expect(try await curl("-g", server.url + "/").output == "six")
        }
    }

    @Test func comesBackOnItsOldPort() async throws {
        let server = LoopbackServer()
        server.on("/", .ok("here"))
        try await server.start()
        let url = server.url
        await server.stop()
        // Another suite's server may have the port for a moment; this one's answer it does not give.
        #expect(try await curl(url).output != "here")

        try await server.start()

        #expect(server.url == url)
        #expect(try await curl(url).output == "here")
        await #expect(throws: LoopbackServerError.alreadyRunning) { try await server.start() }
        await server.stop()
    }
}
