import FoundationEssentials
import SystemSupport

/// The frames of an animation, each made when it is asked for. Any thread may use it.
///
/// The file stays in memory as it came. Frames that were made are kept in a window of some bytes; a frame that lies behind the last one
/// costs what lies between, and one before it begins anew.
public final class AnimatedImage: Sendable {
    private struct State: Sendable {
        /// Nil before the first frame, and while a thread draws on it.
        var canvas: (any AnimationCanvas)?
        var window = RecencyList<Int, DecodedImage>()

        /// Lends the canvas to a thread that draws the frame at `index`; nil where it is lent already, or has that frame behind it.
        mutating func lendCanvas(for index: Int) -> (any AnimationCanvas)? {
            guard let lent = canvas, lent.latest.map({ $0 < index }) ?? true else { return nil }
            canvas = nil
            return lent
        }
    }

    /// Pixels in a row.
    public let width: Int
    /// Rows.
    public let height: Int
    /// The number of times it is shown; 0 for ever.
    public let loopCount: Int
    /// The time for which each frame is shown. As browsers do, a time of less than 20 ms is 100 ms.
    public let durations: [Duration]
    private let frames: any AnimationFrames
    private let limits: ImageLimits
    private let windowBytes: Int
    private let state = Lock(State())

    /// The number of frames.
    public var frameCount: Int { durations.count }
    /// The bytes of frames that are in memory.
    var heldBytes: Int { state.withLock { $0.window.cost } }

    init(_ frames: any AnimationFrames, limits: ImageLimits, windowBytes: Int) {
        (self.frames, self.limits, self.windowBytes) = (frames, limits, windowBytes)
        (width, height, loopCount, durations) = (frames.width, frames.height, frames.loopCount, frames.durations)
    }

    /// Makes a frame, or finds it in the window. Decoding: not for the thread that draws.
    ///
    /// - Returns: the frame as it is shown, with what earlier ones have left.
    /// - Throws: ``ImageError``; `damaged` for an index that is none.
    public func frame(at index: Int) throws -> DecodedImage {
        guard durations.indices.contains(index) else { throw ImageError.damaged(frames.format, "no frame \(index)") }
        if let known = state.withLock({ $0.window.use(index) }) { return known }
        // Outside of the lock, on a canvas of its own: others look into the window meanwhile.
        var canvas = try state.withLock { $0.lendCanvas(for: index) } ?? frames.makeCanvas()
        for _ in (canvas.latest.map { $0 + 1 } ?? 0)...index { try canvas.drawNext() }
        let image = try canvas.image(limits)
        let gone = state.withLock { [canvas] state -> ([DecodedImage], (any AnimationCanvas)?) in
            let canvasBefore = state.canvas
            state.canvas = canvas
            let old = state.window.put(image, cost: image.byteCount, for: index)
            return ((old.map { [$0] } ?? []) + state.window.trim(to: windowBytes), canvasBefore)
        }
        _ = gone
        return image
    }
}

/// The frames of an animation in a file, as far as they are known without their pixels.
protocol AnimationFrames: Sendable {
    var format: ImageFormat { get }
    var width: Int { get }
    var height: Int { get }
    /// The number of times it is shown; 0 for ever.
    var loopCount: Int { get }
    /// The time for which each frame is shown, at least one.
    var durations: [Duration] { get }

    /// Makes an empty surface.
    func makeCanvas() throws(ImageError) -> any AnimationCanvas
}

/// The surface on which frames are drawn, one over the other. One thread at a time has it.
protocol AnimationCanvas: Sendable {
    /// The frame that was drawn last.
    var latest: Int? { get }

    /// Draws the frame behind the latest, or the first one.
    mutating func drawNext() throws
    /// Makes a picture of what is there.
    func image(_ limits: ImageLimits) throws -> DecodedImage
}

/// The frames of a GIF.
struct GIFFrames: AnimationFrames {
    private struct Canvas: AnimationCanvas {
        let frames: GIFFrames
        var canvas: GIFCanvas

        var latest: Int? { canvas.latest }

        mutating func drawNext() throws {
            let next = canvas.latest.map { $0 + 1 } ?? 0
            try frames.data.withUnsafeBytes { bytes throws in try canvas.draw(next, of: frames.file, ByteView(bytes)) }
        }

        func image(_ limits: ImageLimits) throws -> DecodedImage { try canvas.image(limits) }
    }

    private let file: GIFFile
    private let data: Data

    let format = ImageFormat.gif
    var width: Int { file.width }
    var height: Int { file.height }
    var loopCount: Int { file.loops }
    var durations: [Duration] { file.frames.map { $0.delay < 2 ? .milliseconds(100) : .milliseconds($0.delay * 10) } }

    init(_ data: Data, limits: ImageLimits) throws(ImageError) {
        let file = data.withUnsafeBytes { bytes in Result { () throws(ImageError) in try GIFFile(ByteView(bytes), limits: limits) } }
        (self.file, self.data) = (try file.get(), data)
    }

    func makeCanvas() throws(ImageError) -> any AnimationCanvas { Canvas(frames: self, canvas: GIFCanvas(file)) }
}
