import CleanSlate
import Foundation
import ScopedNetImages
import ScopedNetTestServer
import TestProcesses
import Testing

@testable import ScopedNetTool

/// `scopednet image`: the picture, the lines about it, and the file.
@Suite(.leavesNothing, .serialized) struct ImageTests {
    private struct Facts: Decodable {
        struct Failure: Decodable { let code: String, phase: String, advice: String? }
        let url: String, format: String?, width: Int?, height: Int?, decodedWidth: Int?, decodedHeight: Int?, frames: Int?
        let source: String?, fileBytes: Int?, bytes: Int?, savedBytes: Int?, decodeSeconds: Double?, file: String?, error: Failure?

        init(_ text: String) throws { self = try JSONDecoder().decode(Facts.self, from: Data(text.utf8)) }
    }

    private static let escape = "\u{1B}"

    private static func fixture(_ name: String) throws -> [UInt8] {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        return [UInt8](try Data(contentsOf: tests.appending(path: "ScopedNetImagesTests/Fixtures/\(name)")))
    }

    /// A server that has fixtures, each by its name.
    private func withPictures(_ names: String..., test: (LoopbackServer) async throws -> Void) async throws {
        try await withServer { server in
            for name in names { server.on("/\(name)", .ok(.bytes(try Self.fixture(name)))) }
            try await test(server)
        }
    }

    // MARK: Facts

    @Test func twoLinesTellOfFileAndTransferAndAPipeGetsNoPicture() async throws {
        try await withPictures("walk.gif") { server in
            let result = try await tool("image", server.url + "/walk.gif", environment: ["TERM": "xterm-kitty"])
            #expect(result.status == 0 && result.output == "", "\(result)")
            let lines = result.errors.split(separator: "\n").map(String.init)
            #expect(lines.count == 2, "\(result)")
            #expect(lines.first?.hasPrefix("image/gif, 19 × 13 pixels, 5 frames, decoded in ") == true, "\(result)")
            #expect(lines.last == "4.5 KiB from the network, 4.5 KiB transferred")
            #expect(server.requests.first?["accept"]?.contains("image/gif") == true)
        }
    }

    @Test func jsonHasTheSameFacts() async throws {
        try await withPictures("walk.gif") { server in
            let count = try Self.fixture("walk.gif").count
            let facts = try Facts(try await tool("image", "--json", "--width", "10", server.url + "/walk.gif").output)
            #expect((facts.format, facts.width, facts.height) == ("image/gif", 19, 13))
            #expect((facts.decodedWidth, facts.decodedHeight, facts.frames) == (10, 7, 5))
            #expect((facts.source, facts.fileBytes, facts.bytes, facts.savedBytes) == ("network", count, count, 0))
            #expect((facts.decodeSeconds ?? -1) >= 0 && facts.file == nil && facts.error == nil)
        }
    }

    @Test func aCacheSavesTheTransferOrThe304Does() async throws {
        let folder = try Folder()
        let bytes = try Self.fixture("alpha.bmp")
        try await withServer { server in
            server.on("/fresh", ScriptedResponse.ok(.bytes(bytes)).with { $0.headers.append("Cache-Control", "max-age=600") })
            server.on("/stale", ScriptedResponse.ok(.bytes(bytes)).tagged("v1").with { $0.headers.append("Cache-Control", "no-cache") })
            for (path, source) in [("/fresh", "cache"), ("/stale", "validatedCache")] {
                let arguments = ["image", "--json", "--cache", folder.path("cache"), server.url + path]
                let first = try Facts(try await ProgramRun([toolPath] + arguments).result().output)
                let second = try Facts(try await ProgramRun([toolPath] + arguments).result().output)
                #expect(first.source == "network" && first.bytes == bytes.count && first.savedBytes == 0, "\(path)")
                #expect(second.source == source && second.bytes == 0 && second.savedBytes == bytes.count, "\(path): \(second)")
            }
            #expect(server.requests.count == 3)
        }
    }

    @Test func theAcceptOfTheArgumentsCounts() async throws {
        try await withPictures("rgb.bmp") { server in
            let result = try await tool("image", "-H", "Accept: image/bmp", server.url + "/rgb.bmp")
            #expect(result.status == 0 && server.requests.first?["accept"] == "image/bmp", "\(result)")
        }
    }

    // MARK: Pictures

    @Test(arguments: [("blocks", "\u{1B}[38;2;"), ("sixel", "\u{1B}P"), ("kitty", "\u{1B}_G")])
    func aFormThatIsNamedGoesIntoAPipe(_ form: String, _ start: String) async throws {
        try await withPictures("rgb.bmp") { server in
            let result = try await tool("image", "--graphics", form, server.url + "/rgb.bmp")
            #expect(result.status == 0 && result.output.contains(start) && result.output.hasSuffix("\n"), "\(result)")
        }
    }

    @Test func plainCharactersHaveNoEscapeSequences() async throws {
        try await withPictures("rgb.bmp") { server in
            let result = try await tool("image", "--graphics", "ascii", server.url + "/rgb.bmp")
            #expect(result.output.split(separator: "\n").count > 2 && !result.output.contains(Self.escape), "\(result)")
        }
    }

    @Test func aTerminalShowsThePictureInItsSize() async throws {
        try await withPictures("rgb.bmp") { server in
            let command = "stty cols 10 rows 8; $T image --quiet \(server.url)/rgb.bmp"
            let environment = ["TERM": "xterm-256color", "NO_COLOR": "", "LC_ALL": "C.UTF-8"]
            let result = try await shell("script -qec \"\(command)\" /dev/null", environment: environment)
            let lines = result.output.replacing("\r\n", with: "\n").split(separator: "\n").filter { $0.contains("\u{2580}") }
            #expect((1...5).contains(lines.count), "\(result.output.debugDescription)")
            #expect(lines.allSatisfy { $0.filter { $0 == "\u{2580}" }.count <= 10 })
            #expect(result.output.contains("image/bmp, 19 × 13 pixels"))
        }
    }

    @Test(arguments: [("none", "xterm-kitty"), ("auto", "dumb")])
    func aTerminalGetsNoEscapeSequencesWhereNoneAreWanted(_ form: String, _ terminal: String) async throws {
        try await withPictures("rgb.bmp") { server in
            let command = "$T image --quiet --graphics \(form) \(server.url)/rgb.bmp"
            let result = try await shell("script -qec \"\(command)\" /dev/null", environment: ["TERM": terminal])
            #expect(result.status == 0 && !result.output.contains(Self.escape), "\(result.output.debugDescription)")
        }
    }

    // MARK: Files

    @Test func theOriginalIsSavedAsItCame() async throws {
        let folder = try Folder()
        try await withPictures("walk.gif") { server in
            let result = try await tool("image", "--original", "-o", folder.path("walk"), server.url + "/walk.gif")
            #expect(result.status == 0 && result.errors.contains("written to \(folder.path("walk"))"), "\(result)")
            let (saved, file) = (try Data(contentsOf: folder.url.appending(path: "walk")), Data(try Self.fixture("walk.gif")))
            #expect(saved == file && folder.names == ["walk"])
        }
    }

    @Test func aFailureLeavesTheOldFile() async throws {
        let folder = try Folder()
        try "old".write(toFile: folder.path("picture"), atomically: true, encoding: .utf8)
        try await withServer { server in
            server.on("/page", .ok("<html><body>no picture</body></html>" + String(repeating: " ", count: 2_000)))
            let result = try await tool("image", "--original", "-o", folder.path("picture"), server.url + "/page")
            let text = try folder.text("picture")
            #expect(result.status == 65 && text == "old" && folder.names == ["picture"], "\(result)")
            let folderItself = try await tool("image", "--original", "-o", folder.path("."), server.url + "/page")
            #expect(folderItself.status == 23 && server.requests.count == 1, "\(folderItself)")
        }
    }

    #if Images
    @Test(
        arguments: [("png", [0x89, 0x50]), ("jpg", [0xFF, 0xD8]), ("jpeg", [0xFF, 0xD8]), ("WebP", [0x52, 0x49])] as [(String, [UInt8])])
    func theExtensionChoosesTheFormat(_ type: String, _ start: [UInt8]) async throws {
        let folder = try Folder()
        try await withPictures("Codecs/baseline.jpg") { server in
            let result = try await tool("image", "--width", "20", "-o", folder.path("out.\(type)"), server.url + "/Codecs/baseline.jpg")
            #expect(result.status == 0 && result.errors.contains("37 × 29 pixels, made 20 × 16"), "\(result)")
            let saved = try Data(contentsOf: folder.url.appending(path: "out.\(type)"))
            #expect(saved.starts(with: start) && folder.names == ["out.\(type)"])
        }
    }

    @Test func orientationIsAppliedAndFramesOfWebPAreCounted() async throws {
        try await withPictures("Codecs/rotated.jpg", "Codecs/animated.webp") { server in
            let turned = try Facts(try await tool("image", "--json", server.url + "/Codecs/rotated.jpg").output)
            #expect((turned.width, turned.height, turned.decodedWidth) == (29, 37, 29))
            let animated = try Facts(try await tool("image", "--json", server.url + "/Codecs/animated.webp").output)
            #expect(animated.format == "image/webp" && (animated.frames ?? 0) > 1)
        }
    }
    #else
    @Test func withoutTheTraitAFormatIsRefusedByName() async throws {
        let folder = try Folder()
        try await withPictures("Codecs/baseline.jpg") { server in
            let result = try await tool("image", server.url + "/Codecs/baseline.jpg")
            #expect(result.status == 65 && result.errors.contains("image/jpeg is not supported"), "\(result)")
            #expect(result.errors.contains("built without the trait Images"))
            let output = try await tool("image", "-o", folder.path("x.png"), server.url + "/Codecs/baseline.jpg")
            #expect(output.status == 64 && output.errors.contains("built without the trait Images"), "\(output)")
        }
    }
    #endif

    // MARK: Failures

    @Test func failuresHaveAdviceAndTheirStatus() async throws {
        try await withServer { server in
            server.on("/svg", .ok("<svg xmlns='http://www.w3.org/2000/svg'/>"))
            server.on("/cut", .ok(.bytes(Array(try Self.fixture("walk.gif").prefix(40)))))
            server.on("/huge", .ok(.bytes(Array("GIF89a".utf8) + [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0])))
            server.on("/gone", ScriptedResponse.ok("").with { $0.status = 404 })
            let expected: [(String, Int32, String)] = [
                ("/svg", 65, "image/svg+xml is not supported"), ("/cut", 65, "is damaged"), ("/huge", 63, "pixels"),
                ("/gone", 22, "check the path of the address"),
            ]
            for (path, status, text) in expected {
                let result = try await tool("image", server.url + path)
                #expect(result.status == status && result.errors.contains(text) && result.output == "", "\(path): \(result)")
                #expect(result.errors.contains("\n  "), "\(path): no advice")
            }
        }
    }

    @Test func jsonHasTheErrorOfAPictureToo() async throws {
        try await withServer { server in
            server.on("/page", .ok("<html>" + String(repeating: "x", count: 2_000)))
            let result = try await tool("image", "--json", server.url.replacing("http://", with: "http://user:hunter2@") + "/page")
            let facts = try Facts(result.output)
            #expect(result.status == 65 && facts.error?.code == "unknownFormat" && facts.error?.phase == "decoding", "\(result)")
            #expect(facts.error?.advice != nil && !(result.output + result.errors).contains("hunter2"))
        }
    }

    @Test(arguments: [
        ["--width", "0"], ["--height", "-4"], ["--original"], ["--original", "-o", "x", "--width", "4"], ["-o", "x.tga"],
        ["-o", "folder/"],
        ["--json", "--graphics", "kitty"], ["--graphics", "photo"], ["--cache", ""],
    ])
    func wrongArgumentsAreRefused(_ arguments: [String]) async throws {
        let result = try await ProgramRun([toolPath, "image"] + arguments + ["http://127.0.0.1:1/"]).result()
        #expect(result.status == 64 && result.output == "", "\(result)")
    }
}

@Suite(.leavesNothing) struct ImageGraphicsTests {
    @Test func autoNeedsATerminal() {
        let kitty = ["TERM": "xterm-kitty"]
        #expect(ImageGraphics.auto.capability(isTerminal: true, environment: kitty) == .kitty)
        #expect(ImageGraphics.auto.capability(isTerminal: false, environment: kitty) == nil)
        #expect(ImageGraphics.none.capability(isTerminal: true, environment: kitty) == nil)
        #expect(ImageGraphics.blocks.capability(isTerminal: false, environment: [:]) == .halfBlocks)
        #expect(ImageGraphics.ascii.capability(isTerminal: false, environment: [:]) == .plain)
    }

    @Test func withoutATerminalItHasTheUsualSize() {
        let size = TerminalSize(of: -1)
        #expect((size.columns, size.rows, size.pictureRows) == (80, 24, 21) && size.cell == nil)
        #expect(size.pixels.width == 800 && size.pixels.height == 420)
    }
}
