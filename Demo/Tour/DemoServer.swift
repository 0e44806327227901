import Foundation
import ScopedNetTestServer

/// The other end: the files of `Demo/Assets` and some large ones made on the spot, at the speed of a moderate connection.
final class DemoServer: Sendable {
    private let server: LoopbackServer
    private let assets: URL
    private let gallery: Gallery
    /// Holds the generated files; what is downloaded goes beside them.
    let folder: URL
    let pace: Pace
    let library: LibraryServer

    /// How slow the network is made to look.
    struct Pace: Sendable {
        var largeFile = 64 << 20
        var mapFile = 24 << 20
        var answer = Duration.milliseconds(180)
        var picture = Duration.milliseconds(18)
        var piece = Duration.milliseconds(2)
        var keystroke = Duration.milliseconds(110)
        var rest = Duration.milliseconds(700)
        var memoPiece = Duration.milliseconds(50)
        var retryAfter = "1"

        static let shown = Pace()
        static let fast = Pace(
            largeFile: 16 << 20, mapFile: 8 << 20, answer: .milliseconds(30), picture: .milliseconds(2), piece: .milliseconds(2),
            keystroke: .milliseconds(15), rest: .milliseconds(60), memoPiece: .milliseconds(8), retryAfter: "0")
    }

    init(pace: Pace) throws {
        self.pace = pace
        library = LibraryServer(answer: pace.answer)
        assets = try Self.findAssets()
        gallery = Gallery(folder: assets.appending(path: "pictures"))
        folder = FileManager.default.temporaryDirectory.appending(path: "scopednet-demo-\(ProcessInfo.processInfo.processIdentifier)")
        server = LoopbackServer(.init(threads: 2))
    }

    var baseURL: String { server.url + "/" }
    var connectionsAccepted: Int { server.connectionsAccepted }
    var requests: [RecordedRequest] { server.requests }

    func start() async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try makeFile("survey-original.bin", bytes: pace.largeFile)
        try makeFile("map-original.bin", bytes: pace.mapFile)
        addRoutes()
        try await server.start()
    }

    func stop() async {
        await server.stop()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Whether a download is byte for byte what was served.
    func isOriginal(_ name: String) -> Bool {
        FileManager.default.contentsEqual(
            atPath: folder.appending(path: "\(name).bin").path, andPath: folder.appending(path: "\(name)-original.bin").path)
    }

    /// Reads the file of a picture that was served under a path, in the format that was sent.
    func picture(at path: String, mediaType: String) -> Data? {
        gallery.data(path == "album/cover" ? Self.cover : path.split(separator: "/").last.map { String($0) } ?? "", mediaType: mediaType)
    }

    // MARK: What it answers

    private static let cover = "harbour"

    private func addRoutes() {
        server.on("/feed", .redirect(to: "/feed.json"))
        server.on("/feed.json", asset("feed.json.gz", "application/json").header("Content-Encoding", "gzip").delayed(by: pace.answer))
        for name in gallery.names { server.on("/pictures/\(name)", handler: picture(name)) }
        for name in ["dunes.svg", "cliffs.svg"] {
            server.on("/pictures/\(name)", asset("pictures/\(name)", "image/svg+xml").paced(bytes: 2_048, every: pace.picture))
        }
        // Too many places begin like that: the server is still counting when the next letter comes.
        server.on("/search") { [places = asset("places.json", "application/json"), pace] request in
            request.query == "q=lighthouse" ? places.delayed(by: pace.answer) : places.stalling(.beforeHead)
        }
        server.on("/settings", asset("settings.json", "application/json").delayed(by: pace.answer * 2))
        server.on("/files/survey.bin", original("survey-original.bin"))
        server.on("/files/map.bin", original("map-original.bin"))

        server.enqueue(ScriptedResponse.status(503).header("Retry-After", pace.retryAfter), for: "/status")
        server.on("/status", ScriptedResponse.ok("All lamps are lit.\n").delayed(by: pace.answer))
        server.on("/incidents/*", asset("problem.json", "application/problem+json").with { $0.status = 404 })

        server.on("/story", asset("story.json", "application/json").delayed(by: pace.answer))
        server.on("/story/translation", .ok("…").stalling(.beforeHead))
        server.on("/mirrors/near/cliffs.svg", asset("pictures/cliffs.svg", "image/svg+xml").delayed(by: pace.answer))
        server.on("/mirrors/far/cliffs.svg", asset("pictures/cliffs.svg", "image/svg+xml").stalling(.afterBytes(1_024)))
        server.on("/ticket", asset("pictures/night.jpg", "image/jpeg").paced(bytes: 2_048, every: pace.picture * 2))

        server.on("/album/index", ScriptedResponse.status(503).header("Retry-After", "30"))
        // A film never ends by itself, so that the page is closed in the middle of it however slow the machine is.
        server.on("/album/film", original("survey-original.bin").stalling(.afterBytes(pace.largeFile / 4 * 3)))
        server.on("/album/captions", .slow(String(repeating: "The tide comes in. ", count: 200), bytes: 4, every: .milliseconds(60)))
        server.on("/album/cover", handler: picture(Self.cover))
        server.on("/album/preview") { [gallery] request in gallery.response("fjord", to: request).stalling(.afterBytes(20_000)) }

        server.on("/memos", ScriptedResponse.status(201).header("Location", "/memos/7").delayed(by: pace.answer))
        library.addRoutes(to: server)
    }

    private func asset(_ name: String, _ type: String) -> ScriptedResponse {
        ScriptedResponse(headers: ["Content-Type": type], body: .file(assets.appending(path: name).path))
    }

    private func picture(_ name: String) -> @Sendable (RecordedRequest) async -> ScriptedResponse {
        { [gallery, pace] request in gallery.response(name, to: request).paced(bytes: 2_048, every: pace.picture) }
    }

    private func original(_ name: String) -> ScriptedResponse {
        ScriptedResponse.file(folder.appending(path: name).path).paced(bytes: 64 << 10, every: pace.piece)
    }

    // MARK: Files

    /// Numbered blocks of noise, so that a piece in the wrong place shows.
    private func makeFile(_ name: String, bytes: Int) throws {
        var random = SystemRandomNumberGenerator()
        let noise = Data((0..<(64 << 10) / 8).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } })
        let file = folder.appending(path: name)
        try Data().write(to: file)
        let handle = try FileHandle(forWritingTo: file)
        defer { try? handle.close() }
        for block in 0..<bytes / noise.count {
            var piece = noise
            piece.replaceSubrange(0..<8, with: withUnsafeBytes(of: UInt64(block)) { Data($0) })
            try handle.write(contentsOf: piece)
        }
    }

    private static func findAssets() throws -> URL {
        let beside = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appending(path: "Assets")
        let here = URL(filePath: FileManager.default.currentDirectoryPath).appending(path: "Demo/Assets")
        for folder in [beside, here] where FileManager.default.fileExists(atPath: folder.appending(path: "feed.json").path) {
            return folder
        }
        throw DemoFailure("the demo's files are not in \(beside.path); run it from the project's folder")
    }
}

/// Something the demo cannot go on without, in words for its user.
struct DemoFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
