import CleanSlate
import ScopedNetTestServer
import Testing

@Suite(.leavesNothing, .timeLimit(.minutes(1)))
struct MisbehaviourTests {
    /// curl's exit codes: 1 unsupported, 8 weird reply, 18 partial file, 52 nothing received, 56 receive failure.
    @Test(arguments: [
        (ScriptedResponse.ok("0123456789").ending(.truncate(afterBytes: 4)), 18, "0123"),
        (ScriptedResponse.ok("0123456789").framed(.chunked).ending(.truncate(afterBytes: 4)), 18, "0123"),
        (ScriptedResponse.ok("0123").framed(.declaredLength(10)).ending(.close), 18, "0123"),
        (ScriptedResponse.ok("0123456789").ending(.reset(afterBytes: 4)), 56, "0123"),
        (ScriptedResponse.failing, 52, ""),
        (ScriptedResponse.ok("0123").framed(.untilClose), 0, "0123"),
        (ScriptedResponse.raw("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcdefg"), 0, "abcd"),
        (ScriptedResponse.raw("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcdefg", closeAfter: 40), 18, "ab"),
        (ScriptedResponse.raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n"), 56, ""),
        (ScriptedResponse.raw("garbage\r\n\r\n"), 1, ""),
    ])
    func clientSees(_ response: ScriptedResponse, exitCode: Int, output: String) async throws {
        try await withServer { server async throws in
            server.on("/", response)

            let result = try await curl(server.url + "/")

            #expect(Int(result.exitCode) == exitCode)
            #expect(result.output == output)
        }
    }

    @Test func cutResponsesEndAsScripted() async throws {
        try await withServer { server async throws in
            server.on("/", .ok("0123456789").ending(.reset(afterBytes: 4)))
            _ = try await curl(server.url + "/")

            let request = try await server.takeRequest()

            #expect(try await request.ending() == .cutByScript)
            #expect(request.bodyBytesSent == 4)
        }
    }

    @Test func stallAndTruncationCombine() async throws {
        try await withServer { server async throws in
            server.on("/", .ok("0123456789").stalling(.afterBytes(2)).ending(.truncate(afterBytes: 5)))
            let client = try Curl([server.url])
            let request = try await server.takeRequest()
            try await server.waitForStalls()
            #expect(request.bodyBytesSent == 2)

            server.releaseStalls()

            #expect(try await request.ending() == .cutByScript)
            #expect(await client.result().output == "01234")
        }
    }
}
