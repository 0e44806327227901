import CleanSlate
import Foundation
import ScopedNetTestServer
import TestProcesses
import Testing

/// The progress bar on a real terminal: script(1) gives the tool a pseudo-terminal, and prints what arrives there.
@Suite(.leavesNothing, .serialized) struct TerminalTests {
    private func onTerminal(_ command: String, environment: [String: String] = [:]) async throws -> ProgramResult {
        try await shell("script -qec \"stty cols 100; \(command)\" /dev/null", environment: environment)
    }

    @Test func aDownloadShowsABarAndThenWhatItSaved() async throws {
        let folder = try Folder()
        try await withServer { server in
            server.on("/file", ScriptedResponse.ok(.repeating(69, count: 2 << 20)).paced(bytes: 64 << 10, every: .milliseconds(15)))
            let result = try await onTerminal("$T download -o '\(folder.path("file"))' \(server.url)/file")
            #expect(result.status == 0, "\(result)")
            let bars = result.output.components(separatedBy: "\r\u{1B}[K").filter { $0.contains("of 2.0 MiB") }
            #expect(bars.count >= 2, "\(result.output.debugDescription)")
            #expect(bars.allSatisfy { $0.hasPrefix("[") && $0.contains("%") && $0.contains("/s") && $0.count < 100 }, "\(bars)")
            #expect(result.output.contains("\(folder.path("file")): 2.0 MiB in 0:0"))
            #expect(folder.names == ["file"])
        }
    }

    @Test func anUploadShowsABar() async throws {
        let folder = try Folder()
        try Data(repeating: 65, count: 300_000).write(to: folder.url.appending(path: "up"))
        try await withServer { server in
            server.on("/up", .ok("done"))
            let result = try await onTerminal("$T upload --limit-rate 200k '\(folder.path("up"))' \(server.url)/up")
            let bars = result.output.components(separatedBy: "\r\u{1B}[K").filter { $0.contains("of 293.0 KiB") }
            #expect(bars.count >= 2 && result.output.contains("done"), "\(result.output.debugDescription)")
        }
    }

    @Test func jsonIsLaidOutForPeople() async throws {
        try await withServer { server in
            server.on("/", .json(#"{"a":[1]}"#))
            let result = try await onTerminal("$T get --quiet \(server.url)/")
            #expect(result.output.replacingOccurrences(of: "\r\n", with: "\n") == "{\n  \"a\": [\n    1\n  ]\n}\n", "\(result)")
        }
    }

    @Test func theBodyOfAGetDoesNotMixWithTheBar() async throws {
        let folder = try Folder()
        try await withServer { server in
            server.on("/file", ScriptedResponse.ok(.repeating(70, count: 1 << 20)).paced(bytes: 64 << 10, every: .milliseconds(20)))
            let result = try await onTerminal("$T get \(server.url)/file > '\(folder.path("out"))'")
            #expect(result.output.contains("of 1.0 MiB"), "\(result.output.debugDescription)")
            let text = try folder.text("out")
            #expect(text.count == 1 << 20 && text.allSatisfy { $0 == "F" })
        }
    }

    /// Both streams on one terminal: whole lines of the body, and the bar between them at most.
    @Test func onOneTerminalTheBarMakesWayForTheBody() async throws {
        try await withServer { server in
            let lines = (0..<20).map { "line number \($0)\n" }.joined()
            server.on("/lines", ScriptedResponse.ok(lines).paced(bytes: 25, every: .milliseconds(20)))
            let result = try await onTerminal("$T get \(server.url)/lines")
            var screen = result.output.replacing(/\[[=> ]*\]  [^\r\n]*\r\u{1B}\[K/, with: "")
            screen = screen.replacingOccurrences(of: "\r\u{1B}[K", with: "").replacingOccurrences(of: "\r\n", with: "\n")
            #expect(screen == lines, "\(result.output.debugDescription)")
        }
    }

    @Test(arguments: [("--quiet", "xterm"), ("", "dumb")]) func noBarWhereNoneIsWanted(_ option: String, _ terminal: String) async throws {
        let folder = try Folder()
        try await withServer { server in
            server.on("/file", ScriptedResponse.ok(.repeating(71, count: 1 << 20)).paced(bytes: 64 << 10, every: .milliseconds(15)))
            let command = "$T download \(option) -o '\(folder.path("file"))' \(server.url)/file"
            let result = try await onTerminal(command, environment: ["TERM": terminal])
            #expect(result.status == 0 && result.output == "", "\(result)")
        }
    }

    @Test func withoutATerminalThereIsNoBar() async throws {
        let folder = try Folder()
        try await withServer { server in
            server.on("/file", ScriptedResponse.ok(.repeating(72, count: 1 << 20)).paced(bytes: 64 << 10, every: .milliseconds(15)))
            let result = try await tool("download", "-o", folder.path("file"), server.url + "/file")
            #expect(result.errors == "" && result.output == "")
        }
    }
}
