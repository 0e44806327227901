import FoundationEssentials
import ScopedNet
import SystemSupport

/// The previews of one picture: one is made at a time, of the newest bytes there are, at most three in all (two of a large picture) and with time in
/// between; the picture itself ends them.
final class ImagePreviews: Sendable {
    private struct Arrival: Sendable {
        let reading: UInt64
        let header: ImageHeader
        let data: Data
    }

    private struct State: Sendable {
        var previewer: (any ImagePreviewing)?
        /// The reading whose bytes the previewer has.
        var reading: UInt64 = 0
        var fed = Data()
        var isOver = false
    }

    private let state = Lock(State())
    private let arrivals: AsyncStream<Arrival>
    private let arrived: AsyncStream<Arrival>.Continuation
    private let interval: Duration
    private let options: @Sendable (ImageHeader) -> ImageDecodingOptions

    init(interval: Duration, options: @escaping @Sendable (ImageHeader) -> ImageDecodingOptions) {
        (self.interval, self.options) = (interval, options)
        // A reader that is behind gets the newest: the bytes before are part of it.
        (arrivals, arrived) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// More of the file is there.
    func note(_ reading: UInt64, _ header: ImageHeader, _ data: Data) {
        if header.isProgressive { arrived.yield(Arrival(reading: reading, header: header, data: data)) }
    }

    /// No more of it will come: ``run(_:)`` returns when it has made the preview that it is at.
    func finish() {
        state.withLock { $0.isOver = true }
        arrived.finish()
    }

    /// Lets go of what was decoded for previews.
    func forget() {
        let old = state.withLock { state in
            defer { state.previewer = nil }
            return state.previewer
        }
        _ = old
    }

    /// The picture has come, or is not wanted any more.
    func end() {
        finish()
        state.withLock { $0.previewer }?.cancel()
    }

    /// Makes the picture itself, of what the previews have decoded already: a file is decoded once, however many previews it had.
    ///
    /// - Returns: nil where there was no preview, or the bytes were others, as those of an attempt that broke off may be.
    func picture(_ data: Data) -> DecodedImage? {
        let (previewer, fed) = state.withLock { ($0.previewer, $0.fed) }
        guard let previewer, !fed.isEmpty, data.prefix(fed.count) == fed else { return nil }
        return (try? previewer.picture(data)) ?? nil
    }

    /// Makes previews until the end. `make` runs its closure where pictures are decoded, and shows the result.
    func run(_ make: (ImageHeader, @escaping @Sendable () throws -> DecodedImage?) async -> Bool) async {
        var (shown, last) = (0, ContinuousClock.Instant?.none)
        for await arrival in arrivals {
            // One that comes too early is passed over: a later one has its bytes.
            guard shown < Self.most(arrival.header), last.map({ .now - $0 >= interval }) ?? true, let previewer = previewer(for: arrival)
            else { continue }
            guard await make(arrival.header, { try previewer.preview(arrival.data) }) else { continue }
            shown += 1
            last = .now
        }
    }

    /// Each costs some time for each pixel of the file: three of 12 million take two thirds of what the picture itself does.
    private static func most(_ header: ImageHeader) -> Int { header.width * header.height > 8_000_000 ? 2 : 3 }

    private func previewer(for arrival: Arrival) -> (any ImagePreviewing)? {
        let (known, isOver) = state.withLock { state in (state.reading == arrival.reading ? state.previewer : nil, state.isOver) }
        if isOver { return nil }
        guard let previewer = known ?? make(arrival.header) else { return nil }
        let old = state.withLock { state in
            defer { (state.previewer, state.reading, state.fed) = (previewer, arrival.reading, arrival.data) }
            return state.previewer
        }
        _ = old
        return previewer
    }

    private func make(_ header: ImageHeader) -> (any ImagePreviewing)? {
        #if Images
        try? JPEGPreviewer(header: header, options: options(header))
        #else
        nil
        #endif
    }
}
