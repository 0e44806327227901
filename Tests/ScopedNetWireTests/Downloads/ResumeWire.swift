import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// A wire with a folder to download to, and downloads that go on.
struct ResumeWire: Sendable {
    let wire: Wire
    let folder: TemporaryFolder
    var server: LoopbackServer { wire.server }
    var file: URL { URL(fileURLWithPath: folder.path + "/file") }
    var content: Data? { folder.contents(of: "file") }
    var part: Data? { folder.contents(of: "file.scopednet-part") }

    static let leftovers = ["file.scopednet-part", "file.scopednet-resume"]

    func download(_ path: String = "/", _ change: (inout RequestOptions) -> Void = { _ in }) -> Request<URL> {
        wire.session.download(wire.url + path, to: file).options(change)
    }

    /// Leaves so many bytes of a download behind. Later requests get what comes then.
    func breakOff(after count: Int, of response: ScriptedResponse, path: String = "/") async throws {
        server.enqueue(response.ending(.truncate(afterBytes: count)), for: path)
        _ = try await download(path).failure()
    }

    /// How much of a body the latest response had, when all of it has been counted.
    func bytesOfLatest() async throws -> Int? {
        guard let request = server.requests.last else { return nil }
        _ = try await request.ending()
        return request.bodyBytesSent
    }

    /// The value of a field in the latest request.
    func latest(_ field: String) -> String? { server.requests.last?[field] }
}

func withResumeWire(
    configure: (inout Session.Configuration) throws -> Void = { _ in }, _ test: (ResumeWire) async throws -> Void
) async throws {
    let folder = TemporaryFolder()
    try await withWire {
        $0.options.downloads.resumes = true
        try configure(&$0)
    } _: {
        try await test(ResumeWire(wire: $0, folder: folder))
    }
}

/// A file with a tag.
func tagged(_ data: Data, _ tag: String = "v1") -> ScriptedResponse { ScriptedResponse.ok(.bytes(Array(data))).tagged(tag) }
