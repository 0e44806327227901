import FoundationEssentials
import ScopedNetImages
import ScopedNetTestServer

/// The server of the photos, in this process: a list, and JPEGs that are painted when they are asked for.
struct PhotoServer {
    private static let places = ["Fjord", "Harbour", "Dunes", "Cliffs", "Lagoon", "Moor", "Summit", "Island", "Valley", "Bay"]
    private static let times = ["at dawn", "at noon", "by night", "at dusk", "in spring", "in the mist"]

    let server: LoopbackServer
    var url: String { server.url + "/" }

    /// Starts the server.
    ///
    /// - Parameters:
    ///   - count: the photos.
    ///   - pace: the bytes of a photo in a tenth of a second; nil for all at once.
    /// - Throws: the error of the socket.
    init(count: Int, pace: Int?) throws {
        server = LoopbackServer(.init(threads: 1))
        let titles = (0..<count).map { "\($0) \(Self.places[$0 * 7 % 10]) \(Self.times[$0 % 6])" }
        server.on("/photos.json", .json(String(decoding: try JSONEncoder().encode(titles), as: UTF8.self)))
        server.on("/photos/*") { request in await Self.photo(request.path, large: request.query == "large", pace) }
        try server.startAndWait()
    }

    @concurrent private static func photo(_ path: String, large: Bool, _ pace: Int?) async -> ScriptedResponse {
        guard let number = path.split(separator: "/").last.flatMap({ Int($0) }) else { return .status(404) }
        do {
            let image = try Painter(number: number).paint(width: large ? 1600 : 640, height: large ? 1200 : 480)
            let bytes = Array(try JPEGEncoder(quality: 88).encode(image))
            let headers: HeaderList = ["Content-Type": "image/jpeg", "Cache-Control": "max-age=600"]
            let response = ScriptedResponse(headers: headers, body: .bytes(bytes))
            return pace.map { response.paced(bytes: $0, every: .milliseconds(100)) } ?? response
        } catch { return .status(500) }
    }
}
