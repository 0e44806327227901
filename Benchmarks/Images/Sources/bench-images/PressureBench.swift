import Foundation
import ScopedNet
import ScopedNetImages

/// The time from a word of the service manager (`$MEMORY_PRESSURE_WATCH`) to an empty memory.
struct PressureBench {
    let rounds: Int

    func run() async throws {
        let pipe = FileManager.default.temporaryDirectory.path + "/bench-images-\(getpid()).pressure"
        guard mkfifo(pipe, 0o600) == 0 else { fail("no pipe at \(pipe)") }
        defer { unlink(pipe) }
        setenv("MEMORY_PRESSURE_WATCH", pipe, 1)
        var times: [Double] = []
        for _ in 0..<rounds { times.append(try await time(pipe)) }
        let slowest = times.max() ?? .nan
        ReportRow(
            "memory pressure", "event to empty cache, 500 thumbnails of 98 MB in all",
            "\(Form.time(times.median)), at most \(Form.time(slowest))"
        ).bar("50 ms", slowest, most: 50_000).report()
    }

    /// The monitor listens again two seconds later: a loader for each time.
    private func time(_ pipe: String) async throws -> Double {
        let session = Session(configuration: Session.Configuration(agent: RequestAgent()))
        let images = ImageLoader(session)
        for index in 0..<500 {
            let image = try DecodedImage(width: 256, height: 192) { $0.initializeMemory(as: UInt8.self, repeating: 7) }
            images.memory.insert(image, for: ImageKey(url: "https://images.example.test/\(index).jpg"))
        }
        guard images.memory.count == 500 else { fail("\(images.memory.count) pictures are kept") }
        let descriptor = open(pipe, O_WRONLY)
        let start = Stopwatch.now
        write(descriptor, "x", 1)
        while images.memory.count > 0, Stopwatch.now - start < 5e6 { usleep(20) }
        let time = Stopwatch.now - start
        close(descriptor)
        await session.shutdown()
        return time
    }
}
