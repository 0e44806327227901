public import FoundationEssentials
import SystemSupport

/// The frames of an animation, each made when it is asked for. Any thread may use it.
///
/// The file stays in memory as it came. Frames that were made are kept in a window of some bytes; a frame that lies behind the last one costs
/// what lies between, and one before it begins anew.
public final class AnimatedImage: Sendable {
    private struct State: Sendable {
        var canvas: GIFCanvas
        var window = RecencyList<Int, DecodedImage>()
    }

    /// Pixels in a row.
    public let width: Int
    /// Rows.
    public let height: Int
    /// The number of times it is shown; 0 for ever.
    public let loopCount: Int
    /// The time for which each frame is shown. As browsers do, a time of less than 20 ms is 100 ms.
    public let durations: [Duration]
    private let file: GIFFile
    private let data: Data
    private let limits: ImageLimits
    private let windowBytes: Int
    private let state: Lock<State>

    /// The number of frames.
    public var frameCount: Int { file.frames.count }
    /// The bytes of frames that are in memory.
    var heldBytes: Int { state.withLock { $0.window.cost } }

    /// Reads the places of all frames, and makes none.
    ///
    /// - Parameters:
    ///   - data: a GIF.
    ///   - limits: the most pixels, frames and bytes.
    ///   - windowBytes: the bytes of frames that are kept. Default: 8 MiB.
    /// - Throws: ``ImageError``.
    public init(_ data: Data, limits: ImageLimits = .standard, windowBytes: Int = 8 << 20) throws(ImageError) {
        guard case .header(let header) = try ImageHeader.read(data, isComplete: true, limits: limits) else { throw .unknownFormat }
        guard header.format == .gif else { throw .unsupported(header.format) }
        try limits.check(header)
        let file = try data.withUnsafeBytes { bytes in Result { () throws(ImageError) in try GIFFile(ByteView(bytes), limits: limits) } }
            .get()
        (self.file, self.data, self.limits, self.windowBytes) = (file, data, limits, windowBytes)
        (width, height, loopCount) = (file.width, file.height, file.loops)
        durations = file.frames.map { $0.delay < 2 ? .milliseconds(100) : .milliseconds($0.delay * 10) }
        state = Lock(State(canvas: GIFCanvas(file)))
    }

    /// Makes a frame, or finds it in the window. Decoding: not for the thread that draws.
    ///
    /// - Returns: the frame as it is shown, with what earlier ones have left.
    /// - Throws: ``ImageError``; `damaged` for an index that is none.
    public func frame(at index: Int) throws -> DecodedImage {
        guard file.frames.indices.contains(index) else { throw ImageError.damaged(.gif, "no frame \(index)") }
        if let known = state.withLock({ $0.window.use(index) }) { return known }
        // Outside of the lock, on a canvas of its own: others look into the window meanwhile.
        var canvas = state.withLock { state in state.canvas.latest.map { $0 < index } == true ? state.canvas : nil } ?? GIFCanvas(file)
        try data.withUnsafeBytes { bytes throws in
            for next in (canvas.latest.map { $0 + 1 } ?? 0)...index { try canvas.draw(next, of: file, ByteView(bytes)) }
        }
        let image = try canvas.image(limits)
        let gone = state.withLock { state -> ([DecodedImage], GIFCanvas) in
            let canvasBefore = state.canvas
            state.canvas = canvas
            let old = state.window.put(image, cost: image.byteCount, for: index)
            return ((old.map { [$0] } ?? []) + state.window.trim(to: windowBytes), canvasBefore)
        }
        _ = gone
        return image
    }
}
