import CleanSlate
import Foundation
import ScopedNetTestServer
import TestProcesses
import Testing

/// The options that say where and how a request goes, by what the server recorded.
@Suite(.leavesNothing, .serialized) struct ConnectionOptionTests {
    @Test func resolveAndConnectToReachTheServer() async throws {
        try await withServer { server in
            server.on("/x", .ok("here"))
            let port = server.port
            let resolved = try await tool("get", "--resolve", "api.invalid:\(port):127.0.0.1", "http://api.invalid:\(port)/x")
            let any = try await tool("get", "--resolve", "*:\(port):127.0.0.1", "http://other.invalid:\(port)/x")
            let moved = try await tool(
                "get", "--connect-to", "a.invalid:80:nowhere.invalid:1", "--connect-to", "www.invalid::127.0.0.1:\(port)",
                "http://www.invalid/x")
            #expect(resolved.output == "here" && any.output == "here" && moved.output == "here")
            #expect(server.requests.map { $0["host"] } == ["api.invalid:\(port)", "other.invalid:\(port)", "www.invalid"])
        }
    }

    @Test(arguments: [["--resolve", "a.example:443"], ["--connect-to", "a.example:443"], ["--resolve", "a.example:443:b.example"]])
    func aMalformedOverrideIsWrongUsage(_ arguments: [String]) async throws {
        let result = try await ProgramRun([toolPath, "get"] + arguments + ["http://a.example/"]).result()
        #expect(result.status == 64 && result.errors.contains("overrides no host"), "\(result)")
    }

    @Test func hstsIsReadFromAFileAndWrittenToIt() async throws {
        let folder = try Folder()
        let authority = try TestAuthority()
        try authority.certificatePEM.write(toFile: folder.path("ca.pem"), atomically: true, encoding: .utf8)
        let file = folder.path("hsts")
        try await withServer(.init(tls: try authority.makeServerIdentity(hosts: ["localhost"]))) { server in
            server.on("/", ScriptedResponse.ok("secure").header("Strict-Transport-Security", "max-age=86400; includeSubDomains"))
            let plain = "http://localhost:\(server.port)/"
            let before = try await tool("get", "--hsts", file, "--cacert", folder.path("ca.pem"), plain)
            #expect(before.status != 0 && server.requests.isEmpty && !FileManager.default.fileExists(atPath: file))
            let secure = "https://localhost:\(server.port)/"
            let noted = try await tool("get", "--hsts", file, "--cacert", folder.path("ca.pem"), secure)
            #expect(noted.output == "secure")
            #expect(try String(contentsOfFile: file, encoding: .utf8).contains(".localhost \"20"))
            let after = try await tool("get", "-v", "--hsts", file, "--cacert", folder.path("ca.pem"), plain)
            #expect(after.output == "secure" && after.errors.contains("wants https"), "\(after)")
        }
        let unreadable = try await tool("get", "--hsts", folder.path("."), "http://localhost:1/")
        #expect(unreadable.status == 26, "\(unreadable)")
    }

    @Test func compressSendsGzip() async throws {
        let folder = try Folder()
        try String(repeating: "words and words ", count: 1_000).write(toFile: folder.path("up"), atomically: true, encoding: .utf8)
        try await withServer { server in
            server.on("/", .ok(""))
            let results = [
                try await tool("upload", "--compress", folder.path("up"), server.url + "/"),
                try await tool("post", "--compress", server.url + "/", "text=@\(folder.path("up"))"),
                try await shell("$T upload --compress - \(server.url)/ < \(folder.path("up"))"),
                try await tool("post", "--compress", server.url + "/", "a=b"),
            ]
            #expect(results.allSatisfy { $0.status == 0 }, "\(results)")
            #expect(server.requests.map { $0["content-encoding"] } == ["gzip", "gzip", "gzip", nil])
            #expect(server.requests.dropLast().allSatisfy { $0.body.count < 1_000 && $0.body.starts(with: [0x1f, 0x8b]) })
        }
    }
}
