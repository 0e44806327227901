import FoundationEssentials
import ScopedNet
import ScopedNetImages

/// The facts about a picture that `scopednet image` prints (pure): two lines for people, or one object with `--json`.
struct ImageReport: Encodable, Sendable {
    enum Source: String, Encodable, Sendable {
        case network, cache
        /// The server said that the stored file is still right (304).
        case validatedCache
    }

    let url: String
    /// The media type, found in the bytes.
    let format: String
    /// The pixels of the file, as shown.
    let width: Int
    let height: Int
    /// The pixels that were made of it.
    let decodedWidth: Int
    let decodedHeight: Int
    /// Nil where they were not counted.
    let frames: Int?
    let source: Source
    /// The bytes of the file.
    let fileBytes: Int64
    /// The bytes of bodies that came over the network.
    let bytes: Int64
    /// The bytes that did not have to, thanks to the cache.
    let savedBytes: Int64
    let decodeSeconds: Double
    var file: String?

    init(url: String, _ picture: LoadedPicture, received: Int64, _ cache: ResponseCache.Statistics?) {
        let header = picture.file.header
        (self.url, format) = (url, header.format.mediaType)
        (width, height) = (header.shownWidth, header.shownHeight)
        (decodedWidth, decodedHeight) = (picture.image.width, picture.image.height)
        frames = Self.frames(of: picture.file)
        source = (cache?.validated ?? 0) > 0 ? .validatedCache : (cache?.hits ?? 0) > 0 ? .cache : .network
        (fileBytes, bytes, savedBytes) = (Int64(picture.file.data.count), received, cache?.bytesSaved ?? 0)
        decodeSeconds = picture.file.decoding / .seconds(1)
    }

    private static func frames(of file: DecodingRecord.File) -> Int? {
        switch file.header.format {
        case .gif, .webP: (try? AnimatedImage(file.data))?.frameCount ?? file.header.frameCount
        case .tiff, .ico: file.header.frameCount
        default: file.header.frameCount ?? 1
        }
    }

    /// A line about the file, and one about its way here.
    var lines: [String] {
        var facts = ["\(format), \(width) × \(height) pixels"]
        if (decodedWidth, decodedHeight) != (width, height) { facts.append("made \(decodedWidth) × \(decodedHeight)") }
        if let frames { facts.append(frames == 1 ? "1 frame" : "\(frames) frames") }
        facts.append("decoded in \(Self.time(decodeSeconds))")
        var way = ["\(ProgressBar.bytes(fileBytes)) from \(Self.name(of: source))", "\(ProgressBar.bytes(bytes)) transferred"]
        if savedBytes > 0 { way.append("\(ProgressBar.bytes(savedBytes)) saved") }
        if let file { way.append("written to \(file)") }
        return [facts.joined(separator: ", "), way.joined(separator: ", ")]
    }

    private static func name(of source: Source) -> String {
        switch source {
        case .network: "the network"
        case .cache: "the cache"
        case .validatedCache: "the cache, which the server confirmed (304)"
        }
    }

    private static func time(_ seconds: Double) -> String {
        let tenths = Int((max(0, seconds) * 10_000).rounded())
        return tenths < 10_000 ? "\(tenths / 10).\(tenths % 10) ms" : "\(tenths / 10_000).\(tenths / 1_000 % 10) s"
    }
}
