import CleanSlate
import Foundation
import ScopedNet
import ScopedNetTestServer
import TestProcesses
import Testing

@testable import ScopedNetTool

/// The command lines of README.md, as they stand there: only the name of the server is another.
@Suite(.leavesNothing, .serialized) struct ReadmeLinesTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static func lines() throws -> [String] {
        let text = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
        return text.split(separator: "\n").map(String.init)
    }

    /// The line that begins with `$ scopednet` and this command, for a shell where the tool is `$T`.
    private static func line(of command: String, server: String) throws -> String {
        let start = "$ scopednet \(command) "
        let found = try #require(try lines().first { $0.hasPrefix(start) })
        return "\"$T\" \(command) " + found.dropFirst(start.count).replacing("https://example.org", with: server)
    }

    @Test func theReadmeShowsTheseCommands() throws {
        let shown = try Self.lines().filter { $0.hasPrefix("$ ") }.map { $0.split(separator: " ").prefix(3).joined(separator: " ") }
        #expect(shown == ["$ scopednet post", "$ scopednet image"])
    }

    @Test func postSendsItsItemsAsJSON() async throws {
        struct Person: Decodable, Equatable { let name: String, age: Int, tags: [String] }
        try await withServer { server in
            server.on("/items", .ok("made"))
            let result = try await shell(try Self.line(of: "post", server: server.url))
            #expect(result.status == 0 && result.output == "made", "\(result)")
            let request = try await server.takeRequest()
            #expect(request.method == "POST" && request.headers["Content-Type"] == "application/json")
            let body = try JSONDecoder().decode(Person.self, from: Data(request.body))
            #expect(body == Person(name: "Ann", age: 41, tags: ["a", "b"]))
        }
    }

    #if Images
    @Test func imageSavesASmallWebP() async throws {
        let folder = try Folder()
        let picture = try Data(contentsOf: Self.root.appending(path: "Demo/Assets/pictures/forest.jpg"))
        try await withServer { server in
            server.on("/photo.jpg", .ok(.bytes([UInt8](picture))))
            let result = try await shell("cd '\(folder.url.path)' && " + Self.line(of: "image", server: server.url))
            #expect(result.status == 0 && result.errors.contains("900 × 600 pixels, made 320 × 213"), "\(result)")
            let saved = try Data(contentsOf: folder.url.appending(path: "small.webp"))
            #expect(saved.prefix(4) == Data("RIFF".utf8) && saved.dropFirst(8).prefix(4) == Data("WEBP".utf8))
        }
    }
    #endif

    /// A gigabyte, half of it in 20 seconds.
    @Test func theBarReadsAsShown() throws {
        let shown = try #require(try Self.lines().first { $0.hasPrefix("[=") })
        let half = TransferProgress(completed: 512 << 20, total: 1 << 30)
        #expect(ProgressBar.line(half, elapsed: .seconds(20), width: shown.count + 1) == shown)
    }
}
