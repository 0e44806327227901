import CleanSlate
import Foundation
import Glibc
import ScopedNetTestServer
import TestProcesses
import Testing

/// `post`, `put`, `patch`, `delete`, `head`, `upload` and their flags, by what the server recorded.
@Suite(.leavesNothing, .serialized) struct VerbCommandTests {
    private func text(_ request: RecordedRequest?) -> String { request.map { String(decoding: $0.body, as: UTF8.self) } ?? "" }

    private struct Members: Decodable, Equatable {
        var name: String, age: Int, tags: [String], file: [String: [Int]], note: String
    }

    // MARK: Bodies

    @Test func itemsMakeJSON() async throws {
        let folder = try Folder()
        try #"{"deep": [1]}"#.write(toFile: folder.path("j"), atomically: true, encoding: .utf8)
        try "from a file".write(toFile: folder.path("t"), atomically: true, encoding: .utf8)
        try await withServer { server in
            server.on("/items", .ok("made"))
            let result = try await tool(
                "post", server.url + "/items?a=1", "name=Ann B", "age:=41", "tags:=[\"x\", \"y\"]", "q==two words", "X-One:1",
                "file:=@\(folder.path("j"))", "note=@\(folder.path("t"))")
            #expect(result.status == 0 && result.output == "made", "\(result)")
            let request = try await server.takeRequest()
            #expect(request.method == "POST" && request.query == "a=1&q=two%20words" && request.headers["X-One"] == "1")
            #expect(request.headers["Content-Type"] == "application/json" && request.headers["Accept"] == "application/json, */*;q=0.5")
            let body = try JSONDecoder().decode(Members.self, from: Data(request.body))
            let expected = Members(name: "Ann B", age: 41, tags: ["x", "y"], file: ["deep": [1]], note: "from a file")
            #expect(body == expected)
        }
    }

    /// Numbers that no type of ours holds, and what else a decoder would have changed.
    @Test func whatIsJSONIsSentAsItIsWritten() async throws {
        let folder = try Folder()
        try Data("\u{FEFF}{ \"n\": 1.50 }\n".utf8).write(to: folder.url.appending(path: "j"))
        try await withServer { server in
            server.on("/items", .ok(""))
            let result = try await tool(
                "post", server.url + "/items", "id:=12345678901234567890123", "huge:=1e400", "small:=0.1000000000000000055",
                #"twice:={"a":1,"a":2}"#, #"file:=@\#(folder.path("j"))"#, #"we"ird=a/"b"#, "huge2:=-0", "id2:=1", "id2:=2")
            #expect(result.status == 0, "\(result)")
            let body = text(try await server.takeRequest())
            let expected = [
                "{\"file\":{ \"n\": 1.50 }\n", #""huge":1e400"#, #""huge2":-0"#, #""id":12345678901234567890123"#, #""id2":2"#,
                #""small":0.1000000000000000055"#, #""twice":{"a":1,"a":2}"#, #""we\"ird":"a/\"b"}"#,
            ]
            #expect(body == expected.joined(separator: ","))
        }
    }

    @Test func whatIsNoJSONIsSaidInItsWords() async throws {
        let folder = try Folder()
        try Data([0x22, 0xFF, 0x22]).write(to: folder.url.appending(path: "j"))
        let file = folder.path("j")
        let cases = [
            ("a:={b:1}", "a: what follows := is no JSON: a member of an object has no name in double quotes\n  write text as a=VALUE"),
            ("a:=[1", "a: what follows := is no JSON: an array lacks its end, or a comma\n  write text as a=VALUE"),
            ("a:=@\(file)", "a: \(file) is no JSON: it is no text in UTF-8\n  write text as a=@\(file)"),
        ]
        for (item, words) in cases {
            let result = try await tool("post", "http://127.0.0.1:9/", item)
            #expect(result.status == 64 && result.errors == "scopednet: \(words)\n", "\(result)")
        }
    }

    @Test func itemsMakeAForm() async throws {
        try await withServer { server in
            server.on("/form", .ok(""))
            let result = try await tool("post", "--form", server.url + "/form", "b=1 2", "a=&", "b=3")
            #expect(result.status == 0, "\(result)")
            let request = try await server.takeRequest()
            #expect(text(request) == "b=1%202&a=%26&b=3" && request.headers["Content-Type"] == "application/x-www-form-urlencoded")
        }
    }

    @Test func aFileMakesAMultipartForm() async throws {
        let folder = try Folder()
        try "bytes".write(toFile: folder.path("a.png"), atomically: true, encoding: .utf8)
        try await withServer { server in
            server.on("/form", .ok(""))
            let file = folder.path("a.png")
            let result = try await tool("put", server.url + "/form", "title=Sea", "one@\(file)", "two@\(file);type=text/x-special")
            let plain = try await tool("post", "--multipart", server.url + "/form", "only=text")
            #expect(result.status == 0 && plain.status == 0, "\(result) \(plain)")
            let request = try #require(server.requests.first)
            let body = text(request)
            #expect(request.method == "PUT" && request.headers["Content-Type"]?.hasPrefix("multipart/form-data; boundary=") == true)
            #expect(
                body.contains("name=\"title\"\r\n\r\nSea\r\n")
                    && body.contains("name=\"one\"; filename=\"a.png\"\r\nContent-Type: image/png"))
            #expect(body.contains("Content-Type: text/x-special\r\n\r\nbytes\r\n"))
            #expect(server.requests.last?.headers["Content-Type"]?.hasPrefix("multipart/form-data") == true)
            let missing = try await tool("post", server.url + "/form", "f@\(folder.path("nothing"))")
            #expect(missing.status == 26 && server.requests.count == 2, "\(missing)")
        }
    }

    @Test(arguments: [("post", "POST"), ("put", "PUT"), ("patch", "PATCH"), ("delete", "DELETE"), ("get", "GET")])
    func eachCommandHasItsMethod(_ command: String, _ method: String) async throws {
        try await withServer { server in
            server.on("/x", .ok("body"))
            let result = try await tool(command, server.url + "/x")
            let other = try await tool(command, "-X", "REPORT", "-d", "a=1", server.url + "/x")
            #expect(result.status == 0 && result.output == "body" && other.status == 0)
            #expect(server.requests.map(\.method) == [method, "REPORT"] && text(server.requests.last) == "a=1")
        }
    }

    @Test func headPrintsTheHead() async throws {
        try await withServer { server in
            server.on("/x", ScriptedResponse.ok("body").header("X-A", "1"))
            let result = try await tool("head", server.url + "/x")
            let included = try await tool("get", "-i", server.url + "/x")
            #expect(result.status == 0 && result.output.hasPrefix("HTTP/1.1 200") && result.output.contains("\nX-A: 1\n"), "\(result)")
            #expect(result.output.hasSuffix("\n\n") && !result.output.contains("body") && included.output.hasSuffix("\n\nbody"))
            #expect(server.requests.first?.method == "HEAD")
        }
    }

    // MARK: Uploads

    @Test func aFileIsUploaded() async throws {
        let folder = try Folder()
        try Data(repeating: 65, count: 300_000).write(to: folder.url.appending(path: "p.jpg"))
        try await withServer { server in
            server.on("/up", .ok("thanks"))
            let file = folder.path("p.jpg")
            let first = try await tool("upload", file, server.url + "/up")
            let second = try await tool("upload", "-X", "PUT", "--type", "x/y", file, server.url + "/up")
            let third = try await tool("upload", "-H", "Content-Type: a/b", file, server.url + "/up")
            #expect([first, second, third].allSatisfy { $0.status == 0 && $0.output == "thanks" }, "\(first) \(second) \(third)")
            #expect(server.requests.map(\.method) == ["POST", "PUT", "POST"])
            #expect(server.requests.map { $0.headers["Content-Type"] } == ["image/jpeg", "x/y", "a/b"])
            #expect(server.requests.allSatisfy { $0.body.count == 300_000 && $0.headers["Content-Length"] == "300000" })
            let missing = try await tool("upload", folder.path("nothing"), server.url + "/up")
            #expect(missing.status == 26 && missing.errors.contains("check that the file is there"), "\(missing)")
        }
    }

    @Test func standardInputIsUploadedAsItComes() async throws {
        try await withServer { server in
            server.on("/up", .ok(""))
            let result = try await shell("(head -c 200000 /dev/zero; echo end) | $T upload - \(server.url)/up")
            #expect(result.status == 0, "\(result)")
            let request = try await server.takeRequest()
            #expect(request.body.count == 200_004 && request.headers["Transfer-Encoding"] == "chunked")
            #expect(request.headers["Content-Type"] == "application/octet-stream")
        }
    }

    /// A pipe whose writer says nothing: one signal is enough.
    @Test func aSignalEndsTheWaitForAnUpload() async throws {
        try await withServer { server in
            server.on("/up", .ok(""))
            let folder = try Folder()
            let line =
                "mkfifo '\(folder.path("pipe"))' && exec 3<>'\(folder.path("pipe"))' && exec '\(toolPath)' upload - \(server.url)/up <&3"
            let process = try ProgramRun(["bash", "-c", line])
            try await server.waitForOpenConnections { $0 == 1 }
            process.send(SIGTERM)
            let result = await process.result()
            #expect(result.status == 143 && result.output == "" && result.errors == "", "\(result)")
            try await server.waitForClientsToLeave()
        }
    }

    // MARK: Who asks, and where

    @Test func credentialsAreSent() async throws {
        try await withServer { server in
            server.on("/", .ok(""))
            server.on("/away", .redirect(to: "http://localhost:\(server.port)/"))
            _ = try await tool("get", "-u", "ann:se:cret", server.url + "/")
            _ = try await tool("get", "--bearer", "t0ken", server.url + "/")
            _ = try await tool("get", "--bearer", "t0ken", server.url + "/away")
            let seen = server.requests.map { $0.headers["Authorization"] }
            #expect(seen == ["Basic YW5uOnNlOmNyZXQ=", "Bearer t0ken", "Bearer t0ken", nil])
            let verbose = try await tool("get", "-v", "-u", "ann:se:cret", server.url + "/")
            #expect(verbose.errors.contains("Authorization: ") && !verbose.errors.contains("YW5u") && !verbose.errors.contains("se:cret"))
        }
    }

    @Test(arguments: ["--anyauth", "--digest"]) func aServerMayAskFirst(_ option: String) async throws {
        try await withServer { server in
            server.protect("/*", with: .digest(user: "ann", password: "se:cret"))
            server.on("/", .ok("in"))
            let result = try await tool("get", option, "-u", "ann:se:cret", server.url + "/")
            #expect(result.status == 0 && result.output == "in")
            let schemes = server.requests.map { $0.headers["Authorization"]?.prefix(7) }
            #expect(schemes == [nil, "Digest "])
        }
    }

    @Test func credentialsComeOutOfANetrcFile() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "netrc-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        let content = Data("machine 127.0.0.1 login ann password secret\n".utf8)
        #expect(FileManager.default.createFile(atPath: file.path, contents: content, attributes: [.posixPermissions: 0o600]))
        try await withServer { server in
            server.protect("/*", with: .basic(user: "ann", password: "secret"))
            server.on("/", .ok("in"))
            let result = try await tool("get", "--netrc-file", file.path, server.url + "/")
            #expect(result.status == 0 && result.output == "in")
            // Others may read it: nothing of it is used, and nothing sent.
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
            let before = server.requests.count
            let refused = try await tool("get", "--netrc-file", file.path, server.url + "/")
            #expect(refused.status != 0 && refused.errors.contains(file.path) && !refused.errors.contains("secret"))
            #expect(server.requests.count == before)
        }
    }

    @Test func redirectsCanBeLeftAlone() async throws {
        try await withServer { server in
            server.on("/a", .redirect(to: "/b"))
            server.on("/b", .ok("there"))
            let none = try await tool("get", "--no-follow", "-i", server.url + "/a")
            let followed = try await tool("get", "-L", "--compressed", server.url + "/a")
            #expect(none.output.hasPrefix("HTTP/1.1 302") && followed.output == "there")
        }
    }

    @Test func placesCanBeRefused() async throws {
        try await withServer { server in
            server.on("/", .ok("x"))
            let plain = try await tool("get", "--https-only", server.url + "/")
            let inside = try await tool("get", "--public-only", server.url + "/", environment: ["no_proxy": "*"])
            #expect(plain.status == 1 && plain.errors.contains("--https-only"), "\(plain)")
            #expect(inside.status == 7 && inside.errors.contains("127.0.0.1") && inside.errors.contains("--public-only"), "\(inside)")
            #expect(server.connectionsAccepted == 0)
        }
    }

    @Test func anyCertificateCanBeTrusted() async throws {
        let authority = try TestAuthority()
        try await withServer(.init(tls: try authority.makeServerIdentity())) { server in
            server.on("/", .ok("x"))
            let careful = try await tool("get", server.url + "/")
            let careless = try await tool("get", "-k", server.url + "/")
            #expect(careful.status == 60 && careless.status == 0 && careless.output == "x", "\(careful) \(careless)")
        }
    }

    @Test func failuresThatPassAreTriedAgain() async throws {
        try await withServer { server in
            server.enqueue(.status(503), for: "/")
            server.on("/", .ok("at last"))
            server.on("/down", ScriptedResponse.ok("closed").with { $0.status = 503 })
            let result = try await tool("get", "--retry", "2", server.url + "/")
            #expect(result.status == 0 && result.output == "at last" && server.requests.count == 2, "\(result)")
            let down = try await tool("get", "--retry", "1", server.url + "/down")
            #expect(down.status == 22 && down.output == "closed" && server.requests.count == 4, "\(down)")
        }
    }

    // MARK: Speed and time

    @Test func theRateIsKept() async throws {
        let folder = try Folder()
        try Data(repeating: 65, count: 60_000).write(to: folder.url.appending(path: "up"))
        try await withServer { server in
            server.on("/", .ok(.repeating(66, count: 60_000)))
            let start = ContinuousClock.now
            let down = try await tool("get", "--limit-rate", "30k", server.url + "/")
            let middle = ContinuousClock.now
            let up = try await tool("upload", "--limit-rate", "30k", folder.path("up"), server.url + "/")
            #expect(down.output.utf8.count == 60_000 && up.status == 0)
            // Two seconds each, less what goes out at once.
            #expect(middle - start > .milliseconds(500) && ContinuousClock.now - middle > .milliseconds(1_000))
        }
    }

    @Test func theTimingTableGoesToStandardError() async throws {
        try await withServer { server in
            server.on("/", .ok("body"))
            let result = try await tool("get", "--timing", server.url + "/")
            #expect(result.output == "body")
            let names = result.errors.split(separator: "\n").map { String($0.prefix(14)).trimmingCharacters(in: .whitespaces) }
            let expected = [
                "name lookup", "connect", "TLS", "request sent", "first byte", "total", "sent", "received", "connection", "protocol",
            ]
            #expect(names == expected, "\(result.errors)")
            #expect(result.errors.contains("new, to 127.0.0.1 port \(server.port)") && result.errors.contains("HTTP/1.1"))
        }
    }

    // MARK: Output

    @Test func theBodyGoesToAFile() async throws {
        let folder = try Folder()
        try await withServer { server in
            server.on("/data.txt", .ok("content"))
            server.on("/cut", ScriptedResponse.ok("0123456789").ending(.truncate(afterBytes: 4)))
            let named = try await tool("post", "-o", folder.path("out"), server.url + "/data.txt", "a=1")
            let remote = try await shell("cd '\(folder.url.path)' && $T get -O \(server.url)/data.txt?x=1")
            let download = try await shell("cd '\(folder.url.path)' && rm data.txt && $T download -O \(server.url)/data.txt")
            #expect([named, remote, download].allSatisfy { $0.status == 0 && $0.output == "" }, "\(named) \(remote) \(download)")
            let cut = try await tool("get", "-o", folder.path("out"), server.url + "/cut")
            let contents = try folder.text("out")
            #expect(cut.status == 18 && contents == "content" && folder.names == ["data.txt", "out"], "\(cut) \(folder.names)")
            let nowhere = try await tool("post", "-o", folder.path("none/out"), server.url + "/data.txt", "a=1")
            let nameless = try await tool("get", "-O", server.url + "/")
            let device = try await tool("get", "-o", "/dev/null", server.url + "/data.txt")
            #expect(nowhere.status == 23 && nameless.status == 64 && device.status == 23, "\(nowhere) \(nameless) \(device)")
            #expect(server.requests.count == 4)
        }
    }

    @Test func jsonCanBeLaidOut() async throws {
        try await withServer { server in
            server.on("/", .json(#"{"b":1,"a":[]}"#))
            server.on("/problem", ScriptedResponse.json("{").header("X", "1"))
            let laidOut = try await tool("get", "--pretty", server.url + "/")
            let plain = try await tool("get", server.url + "/")
            let broken = try await tool("get", "--pretty", server.url + "/problem")
            #expect(laidOut.output == "{\n  \"b\": 1,\n  \"a\": []\n}\n" && plain.output == #"{"b":1,"a":[]}"# && broken.output == "{")
        }
    }

    @Test func anErrorPageCanBeLeftOut() async throws {
        try await withServer { server in
            server.on("/", ScriptedResponse.ok("why not").with { $0.status = 404 })
            let result = try await tool("get", "--fail", server.url + "/")
            #expect(result.status == 22 && result.output == "" && result.errors.contains("404"), "\(result)")
        }
    }

    @Test(arguments: [
        (["post", "http://h/", "nonsense"], "nonsense"), (["post", "-d", "x", "http://h/", "a=1"], "--data"),
        (["post", "--form", "http://h/", "f@x"], "--multipart"), (["head", "-d", "x", "http://h/"], "HEAD"),
        (["get", "-u", "ann", "http://h/"], "-u ann:secret"), (["get", "--anyauth", "http://h/"], "--anyauth -u"),
        (["get", "-u", "a:b", "-H", "Authorization: x", "http://h/"], "either"), (["post", "http://h/", "a=@-", "b:=@-"], "once"),
        (["get", "-u", "a:b", "--bearer", "t", "http://h/"], "--bearer"),
        (["get", "--bearer", "a\nb", "http://h/"], "line feed"), (["get", "--limit-rate", "fast", "http://h/"], "--limit-rate"),
        (["get", "--retry", "-1", "http://h/"], "--retry takes a count of 0 to 100"),
        (["get", "--connect-timeout", "-10", "http://h/"], "--connect-timeout takes a number of seconds above 0"),
        (["get", "--max-redirects", "-1", "http://h/"], "--max-redirects takes a count of 0 or more"),
        (["get", "--limit-rate", "-5k", "http://h/"], "and not '-5k'"), (["get", "http://h/", "--timeout"], "Missing value"),
        (["get", "--timeout", "--json", "http://h/"], "--json"), (["get", "-o", "x/", "http://h/"], "--output"),
        (["get", "-o", "x", "-O", "http://h/"], "exclude each other"), (["get", "--json", "-i", "http://h/"], "--include"),
        (["upload", "http://h/"], "url"), (["upload", "--type", "nonsense", "f", "http://h/"], "nonsense"),
        (["upload", "-X", "A B", "f", "http://h/"], "A B"),
        (["download", "-o", "x", "-O", "http://h/"], "--output and --remote-name exclude each other"),
        (["post", "http://h/", "a:=nonsense"], "no JSON"),
    ])
    func wrongUsageSaysWhat(_ arguments: [String], _ word: String) async throws {
        let result = try await ProgramRun([toolPath] + arguments).result()
        #expect(result.status == 64 && result.output == "" && result.errors.contains(word), "\(result)")
    }

    @Test(arguments: ["post", "put", "patch", "delete", "head", "upload"]) func helpIsThere(_ command: String) async throws {
        let result = try await ProgramRun([toolPath, command, "--help"]).result()
        #expect(result.status == 0 && result.errors == "" && result.output.contains("USAGE: scopednet \(command)"))
        #expect(result.output.contains("scopednet \(command) ") && result.output.contains("--limit-rate"))
    }
}
