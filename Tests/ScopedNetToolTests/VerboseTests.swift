import CleanSlate
import ScopedNetTestServer
import TestProcesses
import Testing

/// `-v`: each exchange as it is sent, and no secret of any. What `-i` and `--json` print is the response as it came.
@Suite(.leavesNothing, .serialized) struct VerboseTests {
    /// What was shown as sent: for each exchange its lines.
    private func sent(_ result: ProgramResult) -> [[String]] {
        var exchanges: [[String]] = []
        for line in result.errors.split(separator: "\n") where line.hasPrefix("> ") {
            let text = String(line.dropFirst(2))
            // A field's name ends with a colon; a method does not.
            let isField = text.prefix { $0 != " " }.hasSuffix(":")
            exchanges.append((isField ? exchanges.popLast() ?? [] : []) + [text])
        }
        return exchanges
    }

    @Test func aRedirectIsShownAsItIsSent() async throws {
        try await withServer { server in
            let other = "http://localhost:\(server.port)"
            server.on("/old", .redirect(to: "/middle"))
            server.on("/middle", .redirect(to: other + "/new?token=hunter2"))
            server.on("/new", .ok("there"))
            let result = try await tool(
                "post", "-v", "-H", "Authorization: Bearer hunter2", "-H", "X-Plain: 1", server.url + "/old", "a=1")
            #expect(result.status == 0 && result.output == "there" && !result.errors.contains("hunter2"), "\(result)")
            let exchanges = sent(result)
            let lines = exchanges.map(\.first)
            #expect(lines == ["POST \(server.url)/old", "GET \(server.url)/middle", "GET \(other)/new?token=***"], "\(result)")
            let bearers = exchanges.map { $0.contains("Authorization: Bearer ***") }
            let plain = exchanges.map { $0.contains("X-Plain: 1") }
            #expect(bearers == [true, true, false] && plain == [true, true, true], "\(exchanges)")
            // As the server has it.
            let seen = server.requests.map { "\($0.method) \($0.target) \($0.headers["Authorization"] ?? "-")" }
            #expect(seen == ["POST /old Bearer hunter2", "GET /middle Bearer hunter2", "GET /new?token=hunter2 -"])
        }
    }

    /// What ended with a status was not cancelled by the end of the command.
    @Test func aRefusalIsNotShownAsACancel() async throws {
        try await withServer { server in
            server.on("/", .status(500))
            for _ in 0..<10 {
                let result = try await tool("get", "-v", server.url + "/")
                #expect(result.status == 22 && !result.errors.contains("cancelled"), "\(result)")
            }
        }
    }

    @Test func anAnswerToAChallengeIsShownByItsScheme() async throws {
        try await withServer { server in
            server.protect("/*", with: .digest(user: "ann", password: "se:cret"))
            server.on("/", .redirect(to: "/in"))
            server.on("/in", .ok("in"))
            let result = try await tool("get", "-v", "--anyauth", "-u", "ann:se:cret", server.url + "/")
            #expect(result.status == 0 && result.output == "in", "\(result)")
            let exchanges = sent(result)
            let digests = exchanges.map { $0.contains("Authorization: Digest ***") }
            #expect(digests == [false, true, true] && exchanges.last?.first == "GET \(server.url)/in", "\(result)")
            #expect(!result.errors.contains("se:cret") && !result.errors.contains("response="))
        }
    }

    @Test func anAttemptAfterARedirectIsOfWhereThatLed() async throws {
        try await withServer { server in
            server.on("/old", .redirect(to: "/new"))
            server.enqueue(.status(503), for: "/new")
            server.on("/new", .ok("there"))
            let result = try await tool("get", "-v", "--retry", "1", server.url + "/old")
            let lines = sent(result).map(\.first)
            #expect(lines == ["GET \(server.url)/old", "GET \(server.url)/new", "GET \(server.url)/new"], "\(result)")
            let paths = server.requests.map(\.path)
            #expect(paths == ["/old", "/new", "/new"] && result.errors.contains("attempt 2"))
        }
    }

    @Test func secretsInURLsOfFieldsAreMasked() async throws {
        try await withServer { server in
            let response = ScriptedResponse.ok("x").header("Link", "<http://ann:hunter2@h/>; rel=next").header(
                "Location", "//ann:hunter2@h/")
            server.on("/", response)
            let verbose = try await tool("get", "-v", "-H", "X-From: see http://ann:hunter2@h/", server.url + "/")
            #expect(verbose.errors.contains("< Link: <http://***@h/>; rel=next") && verbose.errors.contains("< Location: //***@h/"))
            #expect(verbose.errors.contains("> X-From: see http://***@h/") && !verbose.errors.contains("hunter2"), "\(verbose)")
            // The response itself is printed as it came.
            let included = try await tool("get", "-i", server.url + "/")
            let json = try await tool("get", "--json", server.url + "/")
            #expect(included.output.contains("Link: <http://ann:hunter2@h/>; rel=next\n"), "\(included)")
            #expect(json.output.contains("//ann:hunter2@h/"), "\(json)")
        }
    }

    /// Those that `-v` masks by their names stay at their origin, given with `-H` or as an item.
    @Test(arguments: [[], ["-v"]] as [[String]]) func fieldsThatHoldSecretsStayAtTheirOrigin(_ options: [String]) async throws {
        try await withServer { server in
            server.on("/near", .redirect(to: "/"))
            server.on("/away", .redirect(to: "http://localhost:\(server.port)/"))
            server.on("/", .ok("there"))
            for path in ["/near", "/away"] {
                let arguments = ["-H", "X-Api-Key: hunter2", "-H", "X-Plain: 1", server.url + path, "X-Auth-Token:hunter3"]
                let result = try await ProgramRun([toolPath, "get"] + options + arguments).result()
                #expect(result.status == 0 && result.output == "there" && !result.errors.contains("hunter"), "\(result)")
            }
            let keys = server.requests.map { $0.headers["X-Api-Key"] }
            let tokens = server.requests.map { $0.headers["X-Auth-Token"] }
            let plain = server.requests.map { $0.headers["X-Plain"] }
            #expect(keys == ["hunter2", "hunter2", "hunter2", nil] && tokens == ["hunter3", "hunter3", "hunter3", nil])
            #expect(plain == ["1", "1", "1", "1"])
        }
    }
}
