import Foundation
import Persistence
import ScopedNet
import ScopedNetImages

/// Bytes that are not fetched twice, as the server counts them.
struct TransferBench {
    private let options: Options
    private let log: ServerLog

    init(_ options: Options) { (self.options, log) = (options, ServerLog(path: options.log)) }

    func run() async throws {
        try await abort()
        try await newSize()
        for destination in [ImagePrefetch.Destination.files, .memory] { try await prefetch(destination) }
    }

    private func abort() async throws {
        let total = Double(try options.file("photo.jpg").count)
        var shares: [(first: Double, second: Double)] = []
        for round in 0..<5 {
            let (session, _) = session(cache: nil)
            let (images, before, url) = (ImageLoader(session), log.lines.count, "\(options.url)/steady/photo.jpg?\(round)")
            let received = await stop(images, url)
            let image = try await images.image(ImageRequest(url, size: PixelSize(256, 256)))
            guard image.width == 256 else { fail("a picture of \(image.width) pixels") }
            let lines = try await log.lines(after: before, most: 2)
            guard lines.count == 2 else { fail("\(lines.count) transfers") }
            // Without a range all of it came again.
            shares.append((received / total, Double(lines.first { $0.status == 206 }?.bytes ?? Int(total)) / total))
            await session.shutdown()
        }
        let second = shares.map(\.second).median
        ReportRow(
            "abort at 60 %, again", "share of the file that came: to the abort, and then",
            "\(Form.percent(shares.map(\.first).median)), \(Form.percent(second))"
        ).bar("41 %", second, most: 0.41).report()
    }

    /// Loads a picture as far as 60 %, and returns the bytes that came.
    private func stop(_ images: ImageLoader, _ url: String) async -> Double {
        let load = Aborted()
        return await withCheckedContinuation { continuation in
            let receipt = images.load(ImageRequest(url, size: PixelSize(256, 256)))
                .onProgress { load.note($0) }
                .onEnd { _ in continuation.resume(returning: load.received) }
                .start()
            load.keep(receipt)
        }
    }

    private func newSize() async throws {
        let folder = temporaryFolder
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let url = "\(options.url)/photo.jpg"
        var bytes: [Int] = []
        for sizes in [[256], [512, 1_024]] {
            let (session, cache) = session(cache: folder)
            let images = ImageLoader(session)
            for side in sizes + (bytes.isEmpty ? [300] : []) {
                let before = log.lines.count
                _ = try await images.image(ImageRequest(url, size: PixelSize(side, side)))
                bytes.append(try await log.lines(after: before, most: bytes.isEmpty ? 1 : .max).reduce(0) { $0 + $1.bytes })
            }
            try await cache?.flush()
            await session.shutdown()
            await cache?.store.close()
        }
        let again = bytes.dropFirst().reduce(0, +)
        ReportRow(
            "original on disk, new sizes", "bytes over the network: 256 px first; then 300 px, and after a restart 512 and 1,024 px",
            "\(bytes[0]); \(bytes.dropFirst().map(String.init).joined(separator: ", "))"
        ).bar("0", Double(again), most: 0).report()
    }

    private func prefetch(_ destination: ImagePrefetch.Destination) async throws {
        let folder = temporaryFolder
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (session, cache) = session(cache: folder)
        let (images, before, request) = (
            ImageLoader(session), log.lines.count, ImageRequest("\(options.url)/photo.jpg", size: PixelSize(256, 256))
        )
        let handle = images.prefetch([request], to: destination)
        await handle.waitUntilDone()
        _ = try await images.image(request)
        let count = try await log.lines(after: before, most: 2).count
        ReportRow("prefetch to \(destination), display", "transfers", "\(count)").bar("1", Double(count), most: 1).report()
        await session.shutdown()
        await cache?.store.close()
    }

    private var temporaryFolder: String { FileManager.default.temporaryDirectory.path + "/bench-images-\(UInt64.random(in: 0 ... .max))" }

    private func session(cache folder: String?) -> (Session, ResponseCache?) {
        let cache = folder.map { ResponseCache(StoreConfiguration(directory: $0)) }
        var configuration = Session.Configuration(agent: RequestAgent())
        configuration.proxy = .none
        configuration.cache = cache
        return (Session(configuration: configuration), cache)
    }
}
