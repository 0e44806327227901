import Foundation
import ScopedNet
import ScopedNetImages
import Synchronization

/// Previews of a progressive JPEG of 12 million pixels: the bytes before the first one, and the processor time of all.
struct PreviewBench {
    private let options: Options
    private static let screen = PixelSize(1_280, 960)

    init(_ options: Options) { self.options = options }

    func run() async throws {
        try decode()
        // For callgrind: without the transfers.
        if options.only == "cpu" { return }
        for size in [nil, Self.screen] { try await load(size) }
    }

    // MARK: Processor time

    private func decode() throws {
        let data = try options.file("progressive.jpg")
        let rounds = try Rounds(
            options.rounds,
            [
                { PlainCodec.time { PlainCodec.jpeg(data, eighths: 8) } },
                { try Stopwatch.thread { try arrive(data, nil) } },
                { try Stopwatch.thread { try arrive(data, Self.screen) } },
                { try PictureReader.time(data) },
                { try PictureReader.time(data, size: Self.screen) },
            ])
        for (index, one, name) in [(1, 3, "in full"), (2, 4, "to 1280 × 960")] {
            let ratio = rounds.ratio(index, to: 0)
            ReportRow(
                "previews \(name): CPU", "two previews and the picture; C: a progressive JPEG in full, once",
                "\(Form.time(rounds.median(index))), without previews \(Form.time(rounds.median(one)))"
            ).plain(Form.time(rounds.median(0)), ratio: ratio).bar("C × 1.5", ratio, most: 1.5).report()
        }
    }

    /// As a loader has it: the bytes grow by an eighth, two previews have a quarter of the sides, and the picture is decoded when all has come.
    private func arrive(_ data: Data, _ size: PixelSize?) throws {
        let header = try PictureReader.header(data)
        let least = PixelSize(header.width / 4, header.height / 4)
        guard let previewer = try JPEGPreviewer(header: header, options: ImageDecodingOptions(size: least)) else { fail("no previews") }
        var (count, arrived) = (0, 16 << 10)
        while count < 2, arrived < data.count {
            if let preview = try previewer.preview(data.prefix(arrived)) {
                count += 1
                try finish(preview, size)
            }
            arrived += max(arrived / 8, 16 << 10)
        }
        guard count == 2 else { fail("\(count) previews") }
        _ = try PictureReader.time(data, size: size)
    }

    private func finish(_ image: DecodedImage, _ size: PixelSize?) throws {
        if let size { _ = try ImageProcessors.Resize(size).process(image) }
    }

    // MARK: Over the wire

    /// The progress and the previews of one load.
    private final class Log: Sendable {
        struct State: Sendable {
            var progress = TransferProgress(completed: 0, total: nil)
            var previews: [Double] = []
        }

        let state = Mutex(State())
    }

    private func load(_ size: PixelSize?) async throws {
        var configuration = Session.Configuration(agent: RequestAgent())
        configuration.proxy = .none
        let session = Session(configuration: configuration)
        let (images, log) = (ImageLoader(session), Log())
        let start = (Stopwatch.now, Stopwatch.process)
        let ended: ScopedOperation.Outcome = await withCheckedContinuation { continuation in
            images.load(ImageRequest("\(options.url)/slow/progressive.jpg", size: size))
                .onProgress { progress in log.state.withLock { $0.progress = progress } }
                .onPreview { _ in log.state.withLock { $0.previews.append($0.progress.fraction ?? 1) } }
                .onEnd { continuation.resume(returning: $0) }
                .start(in: Self.bag)
        }
        let (wall, cpu) = (Stopwatch.now - start.0, Stopwatch.process - start.1)
        let previews = log.state.withLock { $0.previews }
        guard let first = previews.first else { fail("no preview: \(ended)") }
        let total = log.state.withLock { $0.progress.total } ?? 0
        ReportRow(
            "previews \(size == nil ? "in full" : "to 1280 × 960"): bytes",
            "ImageLoader, 1 Mbit/s, \(Form.bytes(Double(total))) in \(Form.time(wall)), \(Form.time(cpu)) of CPU with the transfer",
            "first preview at \(Form.percent(first)); \(previews.count) of them: \(previews.map(Form.percent).joined(separator: ", "))"
        ).bar("20 %", first, most: 0.2).report()
        await session.shutdown()
    }

    private static let bag = DeallocBag()
}
