import CleanSlate
import Foundation
import ScopedNetTestServer
import TestProcesses
import Testing

@testable import ScopedNetTool

@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct ArgumentSecretsTests {
    private func hidden(_ arguments: [String]) -> [String] {
        ArgumentSecrets.hidden((["scopednet"] + arguments).map { Array($0.utf8) }).dropFirst().map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: [
        (["get", "-u", "ann:secret", "http://h/"], ["get", "-u", "**********", "http://h/"]),
        (["-qu", "ann:secret"], ["-qu", "**********"]), (["-u=a:b"], ["-u=***"]), (["--user=a:b"], ["--user=***"]),
        (["--bearer", "t-1"], ["--bearer", "***"]), (["--bearer=t-1"], ["--bearer=***"]),
        (["-H", "Authorization: Basic x"], ["-H", "Authorization:********"]),
        (["--header=X-Api-Key:k"], ["--header=X-Api-Key:*"]), (["-H", "Accept: text/html"], ["-H", "Accept: text/html"]),
        (["http://ann:s@h/a@b"], ["http://*****@h/a@b"]), (["http://h/?token=abc&q=1&key=z#f"], ["http://h/?token=***&q=1&key=*#f"]),
        (["http://h/@a?b=c"], ["http://h/@a?b=c"]), (["password=hush", "name=Ann"], ["password=****", "name=Ann"]),
        (["Authorization:Bearer x"], ["Authorization:********"]), (["-u"], ["-u"]), (["-", "--", ""], ["-", "--", ""]),
    ])
    func secretsAreCoveredAndNothingElse(_ arguments: [String], _ expected: [String]) {
        #expect(hidden(arguments) == expected)
    }

    @Test func theNameOfTheProgramIsLeftAlone() {
        let name = Array("http://a:b@h/?token=x".utf8)
        #expect(ArgumentSecrets.hidden([name]) == [name] && ArgumentSecrets.hidden([]) == [])
    }

    /// `/proc/PID/cmdline` is what ps(1) prints, to every user of the machine.
    @Test func theProcessListDoesNotShowThem() async throws {
        try await withServer { server in
            server.on("/silent", ScriptedResponse.ok("x").stalling(.beforeHead))
            let url = server.url.replacing("http://", with: "http://bob:hidden@") + "/silent?token=hush"
            let run = try ProgramRun([toolPath, "get", "-u", "ann:secret", "-H", "X-Api-Key: opener", url])
            let request = try await server.takeRequest()
            let shown = try String(contentsOfFile: "/proc/\(run.pid)/cmdline", encoding: .utf8)
            #expect(shown.hasPrefix("\(toolPath)\0get\0-u\0**********\0-H\0X-Api-Key:*******\0http://"), "\(shown)")
            for secret in ["secret", "hidden", "hush", "opener"] { #expect(!shown.contains(secret)) }
            // The request has them all the same.
            #expect(request.headers["X-Api-Key"] == "opener" && request.query == "token=hush")
            #expect(request.headers["Authorization"]?.hasPrefix("Basic ") == true)
            run.send(SIGTERM)
            server.releaseStalls()
            _ = await run.result()
        }
    }

    @Test func optionValuesMayBeginWithADash() async throws {
        let folder = try Folder()
        try await withServer { server in
            server.on("/items", .ok("made"))
            let file = folder.path("-body")
            let result = try await tool("post", "-d", "-1", "-u", "-ann:-secret", "-H", "X-A:-b", "-o", file, server.url + "/items")
            #expect(result.status == 0, "\(result)")
            let request = try await server.takeRequest()
            #expect(String(decoding: request.body, as: UTF8.self) == "-1" && request.headers["X-A"] == "-b")
            #expect(request.headers["Authorization"] == "Basic " + Data("-ann:-secret".utf8).base64EncodedString())
            #expect(try String(contentsOfFile: file, encoding: .utf8) == "made")
        }
    }
}
