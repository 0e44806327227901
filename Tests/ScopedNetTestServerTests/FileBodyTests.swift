import CleanSlate
import ScopedNetTestServer
import Testing

@Suite(.leavesNothing, .timeLimit(.minutes(1)))
struct FileBodyTests {
    private let file = TemporaryFile("0123456789")

    @Test func wholeFileHasItsValidators() async throws {
        try await withServer { server async throws in
            server.on("/", .file(file.path))

            let result = try await curl("-i", server.url + "/")

            #expect(result.output.hasSuffix("\r\n\r\n0123456789"))
            #expect(result.output.contains("ETag: \""))
            #expect(result.output.contains(" GMT\r\n"))
            #expect(result.output.contains("Accept-Ranges: bytes\r\n"))
        }
    }

    @Test(arguments: [
        ("0-3", "206", "0123"), ("7-", "206", "789"), ("-2", "206", "89"), ("4-99", "206", "456789"), ("10-", "416", ""),
        ("5-2", "200", "0123456789"), ("0-1,3-4", "200", "0123456789"),
    ])
    func rangeIsCutOut(_ range: String, status: String, body: String) async throws {
        try await withServer { server async throws in
            server.on("/", .file(file.path))

            let result = try await curl("-H", "Range: bytes=\(range)", "-w", " %{http_code}", server.url + "/")

            #expect(result.output == "\(body) \(status)")
        }
    }

    @Test func conditionsAreKept() async throws {
        try await withServer { server async throws in
            server.on("/", .file(file.path).header("ETag", "\"v1\""))
            let range = ["-H", "Range: bytes=5-", "-w", " %{http_code}", server.url + "/"]

            #expect(try await Curl(["-H", "If-Range: \"v1\""] + range).result().output == "56789 206")
            #expect(try await Curl(["-H", "If-Range: \"v0\""] + range).result().output == "0123456789 200")
            #expect(try await Curl(["-H", "If-None-Match: \"v1\""] + range).result().output == " 304")
        }
    }

    @Test func missingFileIsNotFound() async throws {
        try await withServer { server async throws in
            server.on("/", .file("/does/not/exist"))

            #expect(try await curl("-w", "%{http_code}", server.url + "/").output == "404")
        }
    }
}
