import CleanSlate
import Foundation
import Glibc
import ScopedNetTestServer
import TestProcesses
import Testing

/// `scopednet download`: the file is the old one or the complete new one, and nothing else is ever left in its folder.
@Suite(.leavesNothing, .serialized) struct DownloadTests {
    @Test func theFileIsThereAndStandardOutputIsEmpty() async throws {
        let folder = try Folder()
        try await withServer { server in
            server.on("/file", .ok(.repeating(66, count: 3 << 20)))
            let result = try await tool("download", "-o", folder.path("file"), server.url + "/file")
            #expect(result.status == 0 && result.output == "" && result.errors == "", "\(result)")
            let size = try FileManager.default.attributesOfItem(atPath: folder.path("file"))[.size] as? Int
            #expect(size == 3 << 20)
            #expect(folder.names == ["file"])
        }
    }

    @Test func aRelativeNameIsOfTheCurrentFolder() async throws {
        let folder = try Folder()
        try await withServer { server in
            server.on("/file", .ok("content"))
            let result = try await shell("cd '\(folder.url.path)' && $T download -o file --json \(server.url)/file")
            #expect(result.status == 0, "\(result)")
            #expect(result.output.contains(#""file":"file""#) && result.output.contains(#""bytes":7"#))
            let text = try folder.text("file")
            #expect(text == "content")
        }
    }

    @Test func anErrorPageNeverReachesTheFile() async throws {
        let folder = try Folder()
        try "old".write(toFile: folder.path("file"), atomically: true, encoding: .utf8)
        try await withServer { server in
            server.on("/gone", ScriptedResponse.ok("an error page").with { $0.status = 404 })
            server.on("/cut", ScriptedResponse.ok("0123456789").ending(.truncate(afterBytes: 5)))
            let missing = try await tool("download", "-o", folder.path("file"), server.url + "/gone")
            #expect(missing.status == 22 && missing.errors.contains("check the path of the address"), "\(missing)")
            let cut = try await tool("download", "-o", folder.path("file"), server.url + "/cut")
            #expect(cut.status == 18, "\(cut)")
            let text = try folder.text("file")
            #expect(text == "old" && folder.names == ["file"])
        }
    }

    @Test func itGoesOnWhereItBrokeOff() async throws {
        let folder = try Folder()
        try await withServer { server in
            let content = ScriptedResponse.ok("0123456789").tagged("v1")
            server.enqueue(content.ending(.truncate(afterBytes: 4)), for: "/file")
            server.on("/file", content)
            let cut = try await tool("download", "--continue", "-o", folder.path("file"), server.url + "/file")
            #expect(cut.status == 18 && folder.names.count == 2, "\(cut)")
            let whole = try await tool("download", "-c", "-o", folder.path("file"), server.url + "/file")
            #expect(whole.status == 0 && server.requests.last?["range"] == "bytes=4-", "\(whole)")
            let text = try folder.text("file")
            #expect(text == "0123456789" && folder.names == ["file"])
        }
    }

    @Test func aPlaceThatCannotBeWrittenIs23() async throws {
        let folder = try Folder()
        try await withServer { server in
            server.on("/file", .ok("x"))
            let result = try await tool("download", "-o", folder.path("no/such/file"), server.url + "/file")
            #expect(result.status == 23 && result.errors.contains("check that the folder is there"), "\(result)")
        }
    }

    @Test func whatIsNoFileIsLeftAloneAndTheAdviceHelps() async throws {
        let folder = try Folder()
        try await withServer { server in
            server.on("/file", .ok("x"))
            let device = try await tool("download", "-o", "/dev/null", server.url + "/file")
            #expect(device.status == 23 && device.errors.contains("scopednet get URL >"), "\(device)")
            let place = try await tool("download", "-o", folder.path("."), server.url + "/file")
            #expect(place.status == 23 && place.errors.contains("is a folder"), "\(place)")
            #expect(folder.names.isEmpty && server.requests.isEmpty, "nothing was fetched in vain")
        }
    }

    @Test func aLinkIsReplacedAndNotWhatItLeadsTo() async throws {
        let folder = try Folder()
        try await withServer { server in
            server.on("/file", .ok("new"))
            try Data("old".utf8).write(to: URL(filePath: folder.path("target")))
            try FileManager.default.createSymbolicLink(atPath: folder.path("link"), withDestinationPath: folder.path("target"))
            let result = try await tool("download", "-o", folder.path("link"), server.url + "/file")
            let texts = (try folder.text("link"), try folder.text("target"))
            #expect(result.status == 0 && texts == ("new", "old"), "\(result)")
        }
    }

    @Test func aFailureShowsNoCredentials() async throws {
        let folder = try Folder()
        try await withServer { server in
            server.on("/gone", ScriptedResponse.ok("an error page").with { $0.status = 404 })
            let url = server.url.replacing("http://", with: "http://user:hunter2@") + "/gone?token=hunter3"
            let runs = [
                try await tool("download", "-o", folder.path("file"), url),
                try await tool("download", "--json", "-o", folder.path("file"), url),
                try await tool("get", url), try await tool("get", "--json", url.replacing("/gone", with: ":x/gone")),
            ]
            for run in runs {
                #expect(run.status != 0 && !(run.errors + run.output).contains("hunter"), "\(run)")
            }
        }
    }

    /// Ctrl-C, and what else asks a program to end, in the middle of the body: nothing new is left, and the old file is as it was.
    @Test(arguments: [(SIGINT, 130), (SIGTERM, 143), (SIGHUP, 129)] as [(Int32, Int32)])
    func interruptedItLeavesNothing(_ signal: Int32, _ status: Int32) async throws {
        let folder = try Folder()
        try "old".write(toFile: folder.path("file"), atomically: true, encoding: .utf8)
        try await withServer { server in
            server.on("/file", ScriptedResponse.ok(.repeating(67, count: 4 << 20)).stalling(.afterBytes(2 << 20)))
            for _ in 0..<5 {
                let process = try ProgramRun([toolPath, "download", "-o", folder.path("file"), server.url + "/file"])
                try await server.waitForStalls()
                process.send(signal)
                let result = await process.result()
                #expect(result.status == status && result.output == "" && result.errors == "", "\(result)")
                #expect(folder.names == ["file"])
                try await server.waitForClientsToLeave()
            }
            let text = try folder.text("file")
            #expect(text == "old")
        }
    }

    /// Nothing reaches standard output, nor comes from standard input, where there is none: that is no success.
    @Test func aClosedStandardDescriptorIsAnError() async throws {
        try await withServer { server in
            server.on("/*", .ok("text"))
            let get = try await shell("$T get \(server.url)/ >&-")
            #expect(get.status == 23, "\(get)")
            let upload = try await shell("$T upload - \(server.url)/up <&-")
            #expect(upload.status == 26, "\(upload)")
            let quiet = try await shell("$T get \(server.url)/ 2>&-")
            #expect(quiet.status == 0 && quiet.output == "text", "\(quiet)")
        }
    }

    /// The reader of standard error leaves: that is no reason to end a download, nor to leave half of one.
    @Test func aClosedStandardErrorDoesNotMatter() async throws {
        let folder = try Folder()
        try await withServer { server in
            server.on("/file", .ok(.repeating(68, count: 1 << 20)))
            let result = try await shell("$T download -v -o '\(folder.path("file"))' \(server.url)/file 2> >(exec 0<&-); echo $?")
            #expect(result.output == "0\n", "\(result)")
            #expect(folder.names == ["file"])
        }
    }
}
