import Foundation
import ScopedNetTestServer

/// The pictures of `Demo/Assets/pictures`, each in two formats: a JPEG or PNG, and a GIF for programs without the trait `Images`.
struct Gallery: Sendable {
    private let folder: URL
    /// The names without the extension, in order.
    let names: [String]

    private static let formats: [(ending: String, mediaType: String)] = [("jpg", "image/jpeg"), ("png", "image/png"), ("gif", "image/gif")]

    init(folder: URL) {
        self.folder = folder
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        names = files.filter { $0.hasSuffix(".gif") }.map { String($0.dropLast(4)) }.sorted()
    }

    /// Makes the response with the best format that the client has named (RFC 9110 section 12.5.1), else with the GIF.
    func response(_ name: String, to request: RecordedRequest) -> ScriptedResponse {
        let accept = request["accept"] ?? ""
        let format =
            Self.formats.first { accept.contains($0.mediaType) && FileManager.default.fileExists(atPath: file(name, $0.ending).path) }
            ?? (ending: "gif", mediaType: "image/gif")
        // A cache must not give a JPEG to a client that has asked for GIFs.
        return ScriptedResponse(headers: ["Content-Type": format.mediaType, "Vary": "Accept"], body: .file(file(name, format.ending).path))
    }

    /// Reads the file that a response of this media type has.
    func data(_ name: String, mediaType: String) -> Data? {
        guard let format = Self.formats.first(where: { $0.mediaType == mediaType }) else { return nil }
        return try? Data(contentsOf: file(name, format.ending))
    }

    private func file(_ name: String, _ ending: String) -> URL { folder.appending(path: "\(name).\(ending)") }
}
