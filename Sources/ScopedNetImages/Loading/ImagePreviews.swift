import FoundationEssentials
import ScopedNet
import SystemSupport

/// The previews of one picture: one is made at a time, of the newest bytes there are, at most three in all and with time in between; the picture itself
/// ends them.
final class ImagePreviews: Sendable {
    private struct Arrival: Sendable {
        let header: ImageHeader
        let data: Data
    }

    private let current = Lock<(any ImagePreviewing)?>(nil)
    private let arrivals: AsyncStream<Arrival>
    private let arrived: AsyncStream<Arrival>.Continuation
    private let interval: Duration
    private let options: @Sendable (ImageHeader) -> ImageDecodingOptions
    private static let most = 3

    init(interval: Duration, options: @escaping @Sendable (ImageHeader) -> ImageDecodingOptions) {
        (self.interval, self.options) = (interval, options)
        // A reader that is behind gets the newest: the bytes before are part of it.
        (arrivals, arrived) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// More of the file is there.
    func note(_ header: ImageHeader, _ data: Data) { if header.isProgressive { arrived.yield(Arrival(header: header, data: data)) } }

    /// No more of it will come: ``run(_:)`` returns when it has made the preview that it is at.
    func finish() { arrived.finish() }

    /// The picture has come, or is not wanted any more.
    func end() {
        finish()
        current.withLock { $0 }?.cancel()
    }

    /// Makes the picture itself, of what the previews have decoded already: a file is decoded once, however many previews it had.
    ///
    /// - Returns: nil where there was none.
    func picture(_ data: Data) throws -> DecodedImage? { try current.withLock { $0 }?.picture(data) }

    /// Makes previews until the end. `make` runs its closure where pictures are decoded, and shows the result.
    ///
    /// - Returns: when there are no more.
    func run(_ make: (ImageHeader, @escaping @Sendable () throws -> DecodedImage?) async -> Bool) async {
        var shown = 0
        for await arrival in arrivals {
            guard shown < Self.most, let previewer = previewer(arrival.header) else { return }
            guard await make(arrival.header, { try previewer.preview(arrival.data) }) else { continue }
            shown += 1
            try? await Task.sleep(for: interval)
        }
    }

    private func previewer(_ header: ImageHeader) -> (any ImagePreviewing)? {
        if let known = current.withLock({ $0 }) { return known }
        #if Images
        guard let fresh = try? JPEGPreviewer(header: header, options: options(header)) else { return nil }
        current.withLock { $0 = fresh }
        return fresh
        #else
        return nil
        #endif
    }
}
