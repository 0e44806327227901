import CleanSlate
import Foundation
import ScopedNetTestServer
import TestProcesses
import Testing

/// What is said of a response with a status from 400 on: as JSON, and to those who have given credentials.
@Suite(.leavesNothing, .serialized) struct FailureReportTests {
    private struct Report: Decodable {
        struct Failure: Decodable, Equatable { let code: String, phase: String, attempt: Int, message: String, advice: String? }
        struct Timing: Decodable { let total: Double }
        let status: Int, body: String?, bytes: Int?, seconds: Timing?, error: Failure?
    }

    private func decoded(_ result: ProgramResult) throws -> Report { try JSONDecoder().decode(Report.self, from: Data(result.output.utf8)) }

    @Test(arguments: ["get", "post", "put", "patch", "delete"]) func aRefusalIsAnErrorInJSON(_ command: String) async throws {
        try await withServer { server in
            server.on("/gone", ScriptedResponse.ok("why not").with { $0.status = 404 })
            let result = try await tool(command, "--json", server.url + "/gone")
            let report = try decoded(result)
            #expect(result.status == 22 && report.status == 404 && report.body == "why not" && report.bytes == 7, "\(result)")
            let error = try #require(report.error)
            #expect(error.code == "unacceptableStatus" && error.phase == "receiving" && error.attempt == 1)
            #expect(error.message.hasPrefix("the server answered 404") && error.advice == "check the path of the address")
            // With --fail the library says it: the same, but for the body.
            let failed = try await tool(command, "--json", "--fail", server.url + "/gone")
            let other = try decoded(failed)
            #expect(failed.status == 22 && other.error == error && other.status == 404 && other.body == nil, "\(failed)")
        }
    }

    @Test func anUploadSaysItToo() async throws {
        let folder = try Folder()
        try Data("bytes".utf8).write(to: folder.url.appending(path: "up"))
        try await withServer { server in
            server.on("/up", ScriptedResponse.ok("too many").with { $0.status = 429 })
            let result = try await tool("upload", "--json", folder.path("up"), server.url + "/up")
            let report = try decoded(result)
            #expect(result.status == 22 && report.error?.advice?.contains("try again") == true && report.body == "too many", "\(result)")
        }
    }

    @Test func whatIsNoFailureHasNoError() async throws {
        try await withServer { server in
            server.on("/", .ok("fine"))
            server.on("/old", .redirect(to: "/"))
            let runs = [
                try await tool("get", "--json", server.url + "/"), try await tool("get", "--json", "--no-follow", server.url + "/old"),
            ]
            for (run, status) in zip(runs, [200, 302]) {
                let report = try decoded(run)
                #expect(run.status == 0 && report.status == status && report.error == nil, "\(run)")
                // Observed, and still no table on standard error.
                #expect(run.errors == "", "\(run)")
            }
        }
    }

    /// Whether the last answer is one that would be tried again or not.
    @Test(arguments: [503, 404]) func theAttemptIsThatOfTheAnswer(_ status: Int) async throws {
        try await withServer { server in
            server.enqueue(.status(503), for: "/")
            server.on("/", ScriptedResponse.ok("closed").with { $0.status = status })
            let result = try await tool("get", "--json", "--retry", "1", server.url + "/")
            let report = try decoded(result)
            #expect(result.status == 22 && report.status == status && report.error?.attempt == 2, "\(result)")
            #expect(report.body == "closed" && report.bytes == 6 && report.seconds != nil, "\(result)")
            #expect(server.requests.count == 2)
        }
    }

    // MARK: Credentials

    @Test func whoHasGivenCredentialsIsNotToldToGiveSome() async throws {
        let folder = try Folder()
        try await withServer { server in
            server.protect("/digest", with: .digest(user: "ann", password: "secret"))
            server.protect("/basic", with: .basic(user: "ann", password: "secret"))
            server.protect("/token", with: .bearer(token: "good"))
            for path in ["/digest", "/basic", "/token"] { server.on(path, .ok("in")) }
            let url = server.url
            let nobody = try await tool("get", url + "/basic")
            #expect(nobody.status == 22 && nobody.errors.contains("give credentials"), "\(nobody)")
            let basic = try await tool("get", "-u", "ann:secret", url + "/digest")
            #expect(basic.status == 22 && basic.errors.contains("asks for Digest") && basic.errors.contains("--anyauth"), "\(basic)")
            let refused = [
                try await tool("get", "-u", "ann:wrong", url + "/basic"),
                try await tool("get", "--anyauth", "-u", "ann:wrong", url + "/digest"),
                try await tool("get", "--bearer", "bad", url + "/token"),
                try await tool("get", "-H", "Authorization: Bearer bad", url + "/token"),
                try await tool("get", url + "/token", "Authorization:Bearer bad"),
                try await tool("download", "-o", folder.path("file"), "-u", "ann:wrong", url + "/basic"),
                try await tool("get", url.replacing("http://", with: "http://ann:wrong@") + "/basic"),
            ]
            for result in refused {
                #expect(result.status == 22 && result.errors.contains("the server refused the"), "\(result)")
                #expect(!result.errors.contains("give credentials") && !result.errors.contains("wrong"), "\(result)")
            }
            let json = try await tool("get", "--json", "-u", "ann:wrong", url + "/basic")
            let report = try decoded(json)
            #expect(report.error?.advice?.hasPrefix("the server refused the user and password given") == true, "\(json)")
        }
    }
}
