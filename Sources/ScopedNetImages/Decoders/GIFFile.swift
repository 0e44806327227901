/// The blocks of a GIF (GIF89a, CompuServe 1990): the places of its frames and their pixels, without a look at the pixels.
struct GIFFile: Sendable {
    /// The treatment of a frame before the next one is drawn (section 23c).
    enum Disposal: Sendable {
        case keep, clear, restore
    }

    struct Frame: Sendable {
        var (left, top, width, height) = (0, 0, 0, 0)
        var isInterlaced = false
        var palette: Range<Int>?
        /// The index that is not drawn.
        var transparent: UInt8?
        var disposal = Disposal.keep
        /// Hundredths of a second, as the file says.
        var delay = 0
        /// The offset of the minimum code size; sub-blocks follow.
        var data = 0
    }

    private(set) var width = 0
    private(set) var height = 0
    /// The number of times it is shown; 0 for ever, 1 where nothing is said.
    private(set) var loops = 1
    private(set) var frames: [Frame] = []
    /// Of all frames without one of their own: three bytes for each colour.
    private(set) var palette: Range<Int>?

    /// More blocks than this, besides those of frames, are no picture.
    private static let mostBlocks = 10_000

    /// Reads the blocks, up to `mostFrames` frames where only the first ones are wanted; nil reads all that `limits` allow.
    init(_ bytes: ByteView, limits: ImageLimits, first mostFrames: Int? = nil) throws(ImageError) {
        guard let wide = bytes.u16LE(6), let high = bytes.u16LE(8), let flags = bytes.u8(10), bytes.count >= 13 else {
            throw .damaged(.gif, "its header is cut short")
        }
        (width, height) = (wide, high)
        var offset = 13
        palette = Self.palette(flags, at: &offset)
        var (next, blocks) = (Frame(), 0)
        while mostFrames.map({ frames.count < $0 }) ?? true {
            // A file that is cut short shows the frames that are there.
            guard let kind = bytes.u8(offset) else { break }
            offset += 1
            switch kind {
            case 0x2C:
                guard frames.count < limits.frames else { throw .exceeds(.frames, actual: frames.count + 1, most: limits.frames) }
                guard try Self.image(bytes, &offset, &next) else { break }
                frames.append(next)
                next = Frame()
                continue
            case 0x21:
                blocks += 1
                guard blocks <= Self.mostBlocks else { throw .damaged(.gif, "more than \(Self.mostBlocks) extensions") }
                if extensionBlock(bytes, &offset, &next) { continue }
            // The trailer; behind it, and in place of a block, nothing counts.
            default: break
            }
            break
        }
        guard !frames.isEmpty else { throw .damaged(.gif, "no frame") }
    }

    private static func palette(_ flags: UInt8, at offset: inout Int) -> Range<Int>? {
        guard flags & 0x80 != 0 else { return nil }
        let start = offset
        offset += 3 << (Int(flags & 7) + 1)
        return start..<offset
    }

    /// - Returns: false where it is cut short.
    private static func image(_ bytes: ByteView, _ offset: inout Int, _ frame: inout Frame) throws(ImageError) -> Bool {
        guard let left = bytes.u16LE(offset), let top = bytes.u16LE(offset + 2), let width = bytes.u16LE(offset + 4),
            let height = bytes.u16LE(offset + 6), let flags = bytes.u8(offset + 8)
        else { return false }
        (frame.left, frame.top, frame.width, frame.height, frame.isInterlaced) = (left, top, width, height, flags & 0x40 != 0)
        offset += 9
        frame.palette = palette(flags, at: &offset)
        frame.data = offset
        guard let size = bytes.u8(offset) else { return false }
        guard (1...11).contains(size) else { throw .damaged(.gif, "codes of \(size) bits") }
        offset += 1
        skipBlocks(bytes, &offset)
        return true
    }

    /// - Returns: false where it is cut short.
    private mutating func extensionBlock(_ bytes: ByteView, _ offset: inout Int, _ frame: inout Frame) -> Bool {
        guard let label = bytes.u8(offset) else { return false }
        offset += 1
        if label == 0xF9, bytes.u8(offset) == 4, let flags = bytes.u8(offset + 1), let delay = bytes.u16LE(offset + 2) {
            frame.delay = delay
            frame.transparent = flags & 1 != 0 ? bytes.u8(offset + 4) : nil
            frame.disposal =
                switch flags >> 2 & 7 {
                case 2: .clear
                case 3: .restore
                default: .keep
                }
        }
        if label == 0xFF, bytes.has("NETSCAPE2.0", at: offset + 1) || bytes.has("ANIMEXTS1.0", at: offset + 1), bytes.u8(offset + 12) == 3,
            let count = bytes.u16LE(offset + 14)
        {
            loops = count == 0 ? 0 : count + 1
        }
        Self.skipBlocks(bytes, &offset)
        return true
    }

    private static func skipBlocks(_ bytes: ByteView, _ offset: inout Int) {
        while let length = bytes.u8(offset) {
            offset += 1 + Int(length)
            if length == 0 { break }
        }
    }
}
