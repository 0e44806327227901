import FoundationEssentials
import ScopedNetImages
import ScopedNetTestServer

/// The server of the photos, in this process: a list, and JPEGs that are painted when they are asked for.
@MainActor final class PhotoServer {
    nonisolated private static let places = ["Fjord", "Harbour", "Dunes", "Cliffs", "Lagoon", "Moor", "Summit", "Island", "Valley", "Bay"]
    nonisolated private static let times = ["at dawn", "at noon", "by night", "at dusk", "in spring", "in the mist"]

    /// The photos of a camera that there are, shown again and again: to paint one takes a second.
    nonisolated static let largePhotos = 12

    private let server = LoopbackServer(.init(threads: 1))
    private var change: Task<Void, Never>?
    /// The port, on or off.
    var port: Int { server.port }
    /// The requests that are being answered.
    var requestsInFlight: Int { server.concurrentRequests }

    /// Starts the server.
    ///
    /// - Parameter options: the number of photos, and the pace at which they are sent.
    /// - Throws: the error of the socket.
    init(_ options: Options) throws {
        let titles = (0..<options.photos).map { number in
            "\(number) \(Self.places[number * 7 % 10]) \(Self.times[number % 6])"
        }
        let text = String(decoding: try JSONEncoder().encode(titles), as: UTF8.self)
        var list = ScriptedResponse.json(text).tagged("photos-\(options.photos)")
        // Asked for each time, and good enough while the server is off.
        list.headers.append("Cache-Control", "max-age=0")
        server.on("/photos.json", list)
        let camera = try options.megapixels.map { try Self.photosOfCamera(megapixels: $0) }
        server.on("/photos/*") { request in
            if let camera { return Self.photo(request.path, of: camera) }
            let isLarge = request.query == "large"
            let pace = options.isFast && !isLarge ? nil : options.pace
            return await Self.photo(request.path, isLarge: isLarge, pace: pace)
        }
        try server.startAndWait()
    }

    /// Switches the server on or off, behind the switches before, and waits until that is done.
    func turn(on isOn: Bool) async {
        let (server, former) = (server, change)
        let next = Task {
            await former?.value
            if isOn { try? await server.start() } else { await server.stop() }
        }
        change = next
        await next.value
    }

    /// Waits until nothing is being answered.
    func waitForRequests() async { try? await server.waitForClientsToLeave() }

    /// Waits until no client is connected.
    func waitForSockets() async { try? await server.waitForOpenConnections { $0 == 0 } }

    /// Baseline JPEGs, three by four.
    private static func photosOfCamera(megapixels: Int) throws -> [[UInt8]] {
        let side = Int((Double(megapixels) * 1_000_000 / 12).squareRoot())
        return try (0..<largePhotos).map { number in
            let photo = try Painter(number: number).paint(width: side * 4, height: side * 3)
            return Array(try JPEGEncoder(quality: 88).encode(photo))
        }
    }

    nonisolated private static func photo(_ path: String, of camera: [[UInt8]]) -> ScriptedResponse {
        guard let number = path.split(separator: "/").last.flatMap({ Int($0) }), number >= 0 else { return .status(404) }
        let headers: HeaderList = ["Content-Type": "image/jpeg", "Cache-Control": "max-age=600"]
        return ScriptedResponse(headers: headers, body: .bytes(camera[number % camera.count]))
    }

    @concurrent private static func photo(_ path: String, isLarge: Bool, pace: Int?) async -> ScriptedResponse {
        guard let number = path.split(separator: "/").last.flatMap({ Int($0) }) else { return .status(404) }
        do {
            let image = try Painter(number: number).paint(width: isLarge ? 1600 : 640, height: isLarge ? 1200 : 480)
            let bytes = Array(try JPEGEncoder(quality: 88, isProgressive: true).encode(image))
            let headers: HeaderList = ["Content-Type": "image/jpeg", "Cache-Control": "max-age=600"]
            let response = ScriptedResponse(headers: headers, body: .bytes(bytes))
            return pace.map { response.paced(bytes: $0, every: .milliseconds(100)) } ?? response
        } catch { return .status(500) }
    }
}
