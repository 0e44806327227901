public import FoundationEssentials

/// GIF pictures: the first frame, or an ``AnimatedImage``.
public struct GIFDecoder: ImageDecoding {
    /// The one format that it reads.
    public let formats: Set<ImageFormat> = [.gif]

    /// Makes a decoder.
    public init() {}

    /// Makes the picture; see ``ImageDecoding/decode(_:header:options:)``.
    public func decode(_ data: Data, header: ImageHeader, options: ImageDecodingOptions) throws -> DecodedImage {
        try options.limits.check(header)
        return try data.withUnsafeBytes { bytes in
            let file = try GIFFile(ByteView(bytes), limits: options.limits, first: 1)
            var canvas = GIFCanvas(file)
            try canvas.draw(0, of: file, ByteView(bytes))
            return try canvas.image(options.limits)
        }
    }
}

/// The surface on which the frames of a GIF are drawn, one over the other.
struct GIFCanvas {
    private let width: Int
    private let height: Int
    private var pixels: [UInt8]
    /// The pixels before the latest frame, where it is to be taken away again.
    private var saved: [UInt8]?
    /// The frame that was drawn last.
    private(set) var latest: Int?

    init(_ file: GIFFile) {
        (width, height) = (file.width, file.height)
        pixels = [UInt8](repeating: 0, count: width * height * 4)
    }

    /// Draws the frame that comes next: behind the latest, or the first one.
    mutating func draw(_ index: Int, of file: GIFFile, _ bytes: ByteView) throws(ImageError) {
        if let latest { dispose(of: file.frames[latest]) }
        let frame = file.frames[index]
        saved = frame.disposal == .restore ? pixels : nil
        try paint(frame, palette: frame.palette ?? file.palette, bytes)
        latest = index
    }

    private mutating func dispose(of frame: GIFFile.Frame) {
        switch frame.disposal {
        case .keep: break
        case .restore: if let saved { pixels = saved }
        case .clear:
            // A frame may lie outside of what it is shown on.
            guard frame.left < width, frame.top < height else { break }
            let columns = frame.left..<min(width, frame.left + frame.width)
            for row in frame.top..<min(height, frame.top + frame.height) {
                for place in (row * width + columns.lowerBound) * 4..<(row * width + columns.upperBound) * 4 { pixels[place] = 0 }
            }
        }
        saved = nil
    }

    private mutating func paint(_ frame: GIFFile.Frame, palette: Range<Int>?, _ bytes: ByteView) throws(ImageError) {
        guard let palette else { throw .damaged(.gif, "a frame without a palette") }
        // A frame may be larger than what it is shown on; its pixels have to be read all the same, within reason.
        let (count, overflows) = frame.width.multipliedReportingOverflow(by: frame.height)
        guard !overflows, count <= max(width * height, 1 << 20) else { throw .damaged(.gif, "a frame much larger than its screen") }
        let (indices, read) = GIFPixels.read(bytes, at: frame.data, count: count)
        guard read > 0 || count == 0 else { throw .damaged(.gif, "a frame without pixels") }
        for (stored, shown) in rows(frame).enumerated() {
            let row = frame.top + shown
            guard row < height else { continue }
            for column in 0..<min(frame.width, max(0, width - frame.left)) {
                let place = stored * frame.width + column
                guard place < read else { return }
                let index = indices[place]
                guard index != frame.transparent, let color = color(index, palette, bytes) else { continue }
                let pixel = (row * width + frame.left + column) * 4
                (pixels[pixel], pixels[pixel + 1], pixels[pixel + 2], pixels[pixel + 3]) = (color.0, color.1, color.2, 255)
            }
        }
    }

    private func color(_ index: UInt8, _ palette: Range<Int>, _ bytes: ByteView) -> (UInt8, UInt8, UInt8)? {
        let place = palette.lowerBound + Int(index) * 3
        guard place + 2 < palette.upperBound, let red = bytes.u8(place), let green = bytes.u8(place + 1), let blue = bytes.u8(place + 2)
        else {
            return nil
        }
        return (red, green, blue)
    }

    /// The row at which each stored row is shown.
    private func rows(_ frame: GIFFile.Frame) -> [Int] {
        guard frame.isInterlaced else { return Array(0..<frame.height) }
        return [(0, 8), (4, 8), (2, 4), (1, 2)].flatMap { start, step in Array(stride(from: start, to: frame.height, by: step)) }
    }

    func image(_ limits: ImageLimits) throws -> DecodedImage {
        try DecodedImage(width: width, height: height, limits: limits) { $0.copyBytes(from: pixels) }
    }
}
