import CleanSlate
import Foundation
import Glibc
import ScopedNetTestServer
import TestProcesses
import Testing

/// `scopednet get` as a process of its own: standard output, standard error, exit status.
@Suite(.leavesNothing, .serialized) struct GetTests {
    @Test func theBodyGoesToStandardOutputAndNothingElse() async throws {
        try await withServer { server in
            server.on("/hello", .ok("Hello"))
            let result = try await tool("get", server.url + "/hello")
            #expect(result.status == 0)
            #expect(result.output == "Hello")
            #expect(result.errors == "")
        }
    }

    @Test func methodFieldsAndDataArriveAsGiven() async throws {
        try await withServer { server in
            server.on("/items", .ok("made"))
            let result = try await tool(
                "get", "-X", "PUT", "-H", "X-One: 1", "--header", "X-Two:  two words ", "-H", "Content-Type: application/json",
                "-d", #"{"a":1}"#, server.url + "/items")
            #expect(result.status == 0 && result.output == "made")
            let request = try await server.takeRequest()
            #expect(request.method == "PUT")
            #expect(request.headers["X-One"] == "1")
            #expect(request.headers["X-Two"] == "two words")
            #expect(request.headers["Content-Type"] == "application/json")
            #expect(String(decoding: request.body, as: UTF8.self) == #"{"a":1}"#)
        }
    }

    @Test func dataMakeAPostOfAForm() async throws {
        try await withServer { server in
            server.on("/form", .ok(""))
            let result = try await tool("get", "-d", "a=1&b=2", server.url + "/form")
            #expect(result.status == 0)
            let request = try await server.takeRequest()
            #expect(request.method == "POST")
            #expect(request.headers["Content-Type"] == "application/x-www-form-urlencoded")
            #expect(String(decoding: request.body, as: UTF8.self) == "a=1&b=2")
        }
    }

    @Test func dataComeFromAFileOrStandardInput() async throws {
        let folder = try Folder()
        try "from a file".write(toFile: folder.path("body"), atomically: true, encoding: .utf8)
        try await withServer { server in
            server.on("/up", .ok(""))
            let fromFile = try await tool("get", "-d", "@\(folder.path("body"))", server.url + "/up")
            let fromInput = try await tool("get", "-d", "@-", server.url + "/up", input: "from a pipe")
            #expect(fromFile.status == 0 && fromInput.status == 0)
            let bodies = server.requests.map { String(decoding: $0.body, as: UTF8.self) }
            #expect(bodies == ["from a file", "from a pipe"])
            let missing = try await tool("get", "-d", "@\(folder.path("nothing"))", server.url + "/up")
            #expect(missing.status == 26, "\(missing)")
        }
    }

    @Test func aBodyOfManyMebibytesIsWrittenAsItComes() async throws {
        try await withServer { server in
            server.on("/large", .ok(.repeating(65, count: 32 << 20)))
            let result = try await shell("$T get \(server.url)/large | wc -c")
            #expect(result.output.trimmingCharacters(in: .whitespacesAndNewlines) == "\(32 << 20)")
            #expect(result.errors == "")
        }
    }

    @Test(arguments: [404, 401, 500]) func anErrorStatusPrintsItsBodyAndIs22(_ status: Int) async throws {
        try await withServer { server in
            server.on("/bad", ScriptedResponse.ok("why not").with { $0.status = status })
            let result = try await tool("get", server.url + "/bad")
            #expect(result.status == 22)
            #expect(result.output == "why not")
            #expect(result.errors.hasPrefix("scopednet: \(server.url)/bad: the server answered \(status)\n  "))
        }
    }

    @Test func redirectsAreFollowedAsFarAsAllowed() async throws {
        try await withServer { server in
            server.on("/a", .redirect(to: "/b"))
            server.on("/b", .redirect(to: "/c"))
            server.on("/c", .ok("there"))
            let followed = try await tool("get", server.url + "/a")
            let limited = try await tool("get", "--max-redirects", "1", server.url + "/a")
            let none = try await tool("get", "--max-redirects", "0", "--json", server.url + "/a")
            #expect(followed.status == 0 && followed.output == "there")
            #expect(limited.status == 47 && limited.errors.contains("--max-redirects"))
            #expect(none.status == 0 && none.output.contains(#""status":302"#))
        }
    }

    @Test func jsonDescribesTheResponse() async throws {
        struct Report: Decodable {
            struct Field: Decodable { let name: String, value: String }
            struct Timing: Decodable { let total: Double, firstByte: Double }
            let status: Int, version: String, url: String, bytes: Int, body: String, headers: [Field], seconds: Timing
        }
        try await withServer { server in
            server.on("/data", ScriptedResponse.json(#"{"n":1}"#).header("X-Twice", "a").header("X-Twice", "b"))
            let result = try await tool("get", "--json", server.url + "/data")
            #expect(result.status == 0)
            #expect(result.output.hasSuffix("}\n") && result.output.split(separator: "\n").count == 1)
            let report = try JSONDecoder().decode(Report.self, from: Data(result.output.utf8))
            #expect(report.status == 200 && report.version == "1.1" && report.bytes == 7)
            #expect(report.body == #"{"n":1}"# && report.url == server.url + "/data")
            let twice = report.headers.filter { $0.name.lowercased() == "x-twice" }.map(\.value)
            #expect(twice == ["a", "b"])
            #expect(report.seconds.total >= report.seconds.firstByte && report.seconds.firstByte > 0)
        }
    }

    @Test func jsonOfBytesThatAreNoTextIsBase64() async throws {
        try await withServer { server in
            server.on("/bytes", .ok(.bytes([0xFF, 0x00, 0xC0])))
            let result = try await tool("get", "--json", server.url + "/bytes")
            #expect(result.output.contains(#""base64":"/wDA""#) && !result.output.contains(#""body""#))
        }
    }

    /// As for curl; a file of that name has a folder in front of it.
    @Test func aDashIsStandardOutput() async throws {
        let folder = try Folder()
        try await withServer { server in
            server.on("/hello", .ok("Hello"))
            let command = "cd '\(folder.url.path)' && $T get -o"
            #expect(try await shell("\(command) - \(server.url)/hello").output == "Hello")
            #expect(folder.names == [])
            #expect(try await shell("\(command) ./- \(server.url)/hello").output == "")
            #expect(try folder.text("-") == "Hello")
            let download = try await tool("download", "-o", "-", server.url + "/hello")
            #expect(download.status == 64 && download.errors.contains("scopednet get prints the body"))
        }
    }

    /// RFC 9112 section 9.8; the certificate is verified in any case.
    @Test func aCutConnectionIsToldApart() async throws {
        let folder = try Folder()
        let authority = try TestAuthority()
        let file = folder.path("ca.pem")
        try authority.certificatePEM.write(toFile: file, atomically: true, encoding: .utf8)
        try await withServer(.init(tls: try authority.makeServerIdentity())) { server in
            server.on("/", ScriptedResponse.ok("Hello").framed(.untilClose).ending(.closeWithoutNotify(afterBytes: 5)))
            let cut = try await tool("get", "--cacert", file, server.url + "/")
            #expect(cut.status == 18 && cut.errors.contains("--allow-missing-close-notify"), "\(cut)")
            let taken = try await tool("get", "--cacert", file, "--allow-missing-close-notify", server.url + "/")
            #expect(taken.status == 0 && taken.output == "Hello", "\(taken)")
            #expect(try await tool("get", "--allow-missing-close-notify", server.url + "/").status == 60)
        }
    }

    @Test func verboseShowsWhatHappensAndMasksSecrets() async throws {
        try await withServer { server in
            server.on("/old", .redirect(to: "/new"))
            server.on("/new", ScriptedResponse.ok("x").header("Set-Cookie", "s=verysecret"))
            let result = try await tool("get", "-v", "-H", "Authorization: Bearer verysecret", server.url + "/old?token=verysecret")
            #expect(result.status == 0 && result.output == "x")
            #expect(result.errors.contains("> GET \(server.url)/old?token=***"))
            #expect(result.errors.contains("> Authorization: Bearer ***"))
            #expect(result.errors.contains("< HTTP/1.1 302"))
            #expect(result.errors.contains("< HTTP/1.1 200"))
            #expect(result.errors.contains("connected to 127.0.0.1"))
            #expect(!result.errors.contains("verysecret"), "\(result.errors)")
        }
    }

    // MARK: Failures

    @Test func nobodyListens() async throws {
        let reservation = try PortReservation(forIPv6: true)
        defer { withExtendedLifetime(reservation) {} }
        let url = "http://127.0.0.1:\(reservation.port)"
        let result = try await tool("get", url + "/")
        #expect(result.status == 7)
        #expect(result.output == "")
        #expect(result.errors.contains("check the port, and that the server is running"))
        let json = try await tool("get", "--json", url + "/")
        #expect(json.status == 7 && json.output.contains(#""code":"connectionRefused""#) && json.output.contains(#""advice":"#))
    }

    @Test func aTimeoutIs28() async throws {
        try await withServer { server in
            server.on("/silent", ScriptedResponse.ok("x").stalling(.beforeHead))
            let result = try await tool("get", "--timeout", "0.3", server.url + "/silent")
            #expect(result.status == 28)
            #expect(result.errors.contains("--timeout SECONDS"))
        }
    }

    @Test func aBodyCutShortIs18() async throws {
        try await withServer { server in
            server.on("/cut", ScriptedResponse.ok("0123456789").ending(.truncate(afterBytes: 4)))
            let result = try await tool("get", server.url + "/cut")
            #expect(result.status == 18, "\(result)")
            #expect(result.output == "0123")
        }
    }

    @Test func aCertificateNobodyKnowsIs60AndItsAuthorityHelps() async throws {
        let folder = try Folder()
        let authority = try TestAuthority()
        try authority.certificatePEM.write(toFile: folder.path("ca.pem"), atomically: true, encoding: .utf8)
        try await withServer(.init(tls: try authority.makeServerIdentity())) { server in
            server.on("/", .ok("safe"))
            let distrusted = try await tool("get", server.url + "/")
            #expect(distrusted.status == 60 && distrusted.errors.contains("--cacert FILE"))
            let trusted = try await tool("get", "--cacert", folder.path("ca.pem"), server.url + "/")
            #expect(trusted.status == 0 && trusted.output == "safe", "\(trusted)")
        }
    }

    @Test(arguments: [
        (["get"], "url"), (["get", "--timeout", "-5", "http://h/"], "--timeout takes a number of seconds above 0"),
        (["get", "--timeout", "soon", "http://h/"], "soon"),
        (["get", "-H", "no colon", "http://h/"], "no colon"), (["get", "-H", "X: a\nY: b", "http://h/"], "line feed"),
        (["get", "-X", "A B", "http://h/"], "A B"), (["get", "--bogus", "http://h/"], "--bogus"), (["fetch"], "fetch"),
        (["download", "http://h/"], "--output"), (["download", "-o", "folder/", "http://h/"], "folder"), (["watch", "-n", "0"], "--count"),
        (["watch", "-n", "-1"], "--count takes a count of 1 or more"), (["watch", "--count", "-12"], "--count takes a count of 1 or more"),
        (["cache", "list", "-n", "-1", "x"], "--count takes a count of 1 or more"),
        (["path", "--wait", "-1"], "--wait takes a number of seconds of 0 or more"), (["path", "http://"], "http://"),
    ])
    func wrongUsageIs64AndSaysWhat(_ arguments: [String], _ word: String) async throws {
        let result = try await ProgramRun([toolPath] + arguments).result()
        #expect(result.status == 64, "\(result)")
        #expect(result.output == "" && result.errors.contains(word) && result.errors.contains("Usage:"), "\(result)")
    }

    @Test(arguments: [("foo", 3), ("ftp://host/", 1), ("http://", 3)] as [(String, Int32)])
    func whatIsNoURLSaysHowOneIsWritten(_ url: String, _ status: Int32) async throws {
        let result = try await tool("get", url)
        #expect(result.status == status, "\(result)")
        #expect(result.errors.contains("http"))
    }

    @Test(arguments: [[], ["get"], ["download"], ["path"], ["watch"]] as [[String]]) func helpIsThere(_ command: [String]) async throws {
        let result = try await ProgramRun([toolPath] + command + ["--help"]).result()
        #expect(result.status == 0 && result.errors == "")
        #expect(result.output.contains("USAGE: scopednet \(command.joined())"))
    }

    @Test func aReaderThatLeavesIsNoError() async throws {
        try await withServer { server in
            server.on("/large", .ok(.repeating(65, count: 32 << 20)))
            let result = try await shell("$T get \(server.url)/large | head -c 10; echo \" ${PIPESTATUS[0]}\"")
            #expect(result.output == "AAAAAAAAAA 141\n", "\(result)")
            #expect(result.errors == "")
        }
    }

    @Test func aFullDeviceIs23() async throws {
        try await withServer { server in
            server.on("/", .ok("x"))
            let result = try await shell("$T get \(server.url)/ > /dev/full")
            #expect(result.status == 23 && result.errors.contains("No space left"), "\(result)")
        }
    }

    /// Runs a command whose descriptor 3 is a pipe that nobody writes to or reads from, and ends it once it waits for that.
    private func endedAtThePipe(_ command: String) async throws -> ProgramResult {
        let folder = try Folder()
        return try await shell(
            """
            mkfifo '\(folder.path("pipe"))'; exec 3<>'\(folder.path("pipe"))'
            \(command) & p=$!
            for ((i = 0; i < 5000; i++)); do
                grep -qsE 'pipe_(read|write)|do_(sys_)?poll|poll_schedule' /proc/$p/task/*/wchan && break
            done
            kill -TERM $p; wait $p; echo "status $?"
            """)
    }

    /// One signal is enough where a read or a write would block for ever.
    @Test func aSignalEndsTheWaitForStandardInput() async throws {
        let result = try await endedAtThePipe("$T get -d @- http://127.0.0.1:9/ <&3")
        #expect(result.output == "status 143\n", "\(result)")
    }

    @Test(arguments: ["", "--json"]) func aSignalEndsTheWaitForAReader(_ option: String) async throws {
        try await withServer { server in
            server.on("/large", .ok(.repeating(65, count: 1 << 20)))
            let result = try await endedAtThePipe("$T get \(option) \(server.url)/large >&3")
            #expect(result.output == "status 143\n" && result.errors == "", "\(result)")
        }
    }

    @Test func ctrlCIs130() async throws {
        try await withServer { server in
            server.on("/slow", ScriptedResponse.ok("0123456789").stalling(.afterBytes(4)))
            let process = try ProgramRun([toolPath, "get", server.url + "/slow"])
            let began = await process.waitForOutput { output, _ in output == "0123" }
            #expect(began)
            process.send(SIGINT)
            let result = await process.result()
            #expect(result.status == 130 && result.errors == "", "\(result)")
            try await server.waitForClientsToLeave()
        }
    }
}
