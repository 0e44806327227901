import CMeasure
import Foundation
import Persistence
import ScopedNet
import ScopedNetImages

/// 500 pictures of 12 million pixels through a gallery: peak of resident memory.
struct GalleryBench {
    private let options: Options
    private let count = 500
    private static let screen = PixelSize(1_920, 1_440)

    init(_ options: Options) { self.options = options }

    func run() async throws {
        // Each of them a process of its own.
        switch options.only {
        case "scrolled":
            try await run("rows of 20, the next 40 ahead, each 20th opened for a screen of 1920 × 1440") {
                try await scroll($0, Self.screen)
            }
        case "in full": try await run("as scrolled, each 20th opened with all of its pixels, 48 MB") { try await scroll($0, nil) }
        case "at once": try await run("500 thumbnails at once, 25 in full beside them", loadAtOnce)
        case "without cache": try await run("as scrolled, without a response cache") { try await scroll($0, Self.screen) }
        default: fail("no gallery \(options.only)")
        }
    }

    private func run(_ measured: String, _ body: (ImageLoader) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/bench-images-\(getpid())"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let cache = options.only == "without cache" ? nil : ResponseCache(StoreConfiguration(directory: folder))
        var configuration = Session.Configuration(agent: RequestAgent())
        configuration.proxy = .none
        configuration.cache = cache
        let session = Session(configuration: configuration)
        let images = ImageLoader(session)
        let begin = bench_window_begin()
        try await body(images)
        let end = bench_look()
        let peak = Double(end.peak_kib) * 1_024
        let seconds = String(format: "%.1f s, %.1f s of CPU", (end.wall_us - begin.wall_us) / 1e6, (end.cpu_us - begin.cpu_us) / 1e6)
        ReportRow(
            "gallery, \(options.only)", measured,
            "\(String(format: "%.0f MB", peak / 1e6)), of which pictures in memory \(images.memory.usage / 1_000_000) MB; \(seconds)"
        ).bar("200 MB", peak, most: 200e6).report()
        await session.shutdown()
        await cache?.store.close()
    }

    private func thumbnail(_ index: Int) -> ImageRequest { ImageRequest(url(index), size: PixelSize(256, 256)) }
    private func url(_ index: Int) -> String { "\(options.url)/gallery/\(index).jpg" }

    private func scroll(_ images: ImageLoader, _ screen: PixelSize?) async throws {
        let row = 20
        for first in stride(from: 0, to: count, by: row) {
            // The handle of the row before goes when this one has joined.
            let ahead = images.prefetch((first + row..<min(count, first + 3 * row)).map(thumbnail), to: .memory)
            let shown = try await load(first..<first + row, images)
            let opened = try await images.image(ImageRequest(url(first), size: screen, priority: .high))
            guard shown.count == row, opened.width == screen?.width ?? 4_000 else { fail("a row of \(shown.count)") }
            withExtendedLifetime(ahead) {}
        }
    }

    private func loadAtOnce(_ images: ImageLoader) async throws {
        async let shown = load(0..<count, images)
        for index in stride(from: 0, to: count, by: 20) {
            let opened = try await images.image(ImageRequest(url(index), priority: .high))
            guard opened.width == 4_000 else { fail("a picture of \(opened.width)") }
        }
        guard try await shown.count == count else { fail("pictures are missing") }
    }

    private func load(_ range: Range<Int>, _ images: ImageLoader) async throws -> [DecodedImage] {
        try await withThrowingTaskGroup(of: DecodedImage.self) { group in
            for index in range { group.addTask { try await images.image(thumbnail(index)) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }
}
