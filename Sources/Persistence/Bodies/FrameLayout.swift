/// How a body lies in its file: the bytes as they are, then one checksum of 8 bytes for each frame of 64 KiB. Pure.
///
/// A checksum for each frame lets a range be read and verified by itself, and nothing damaged is ever handed out.
struct FrameLayout: Sendable, Hashable {
    static let frameSize = 64 << 10
    static let checksumSize = 8

    /// Of the body, in bytes.
    let length: Int

    var frameCount: Int { (length + Self.frameSize - 1) / Self.frameSize }
    var trailerSize: Int { frameCount * Self.checksumSize }
    var fileSize: Int { length + trailerSize }

    /// The bytes of a frame; the last one may be short.
    func frame(_ index: Int) -> Range<Int> {
        let start = index * Self.frameSize
        return start..<min(start + Self.frameSize, length)
    }

    /// The frames that together hold `range`, which lies within the body.
    func frames(of range: Range<Int>) -> Range<Int> {
        guard !range.isEmpty else { return 0..<0 }
        return range.lowerBound / Self.frameSize..<(range.upperBound - 1) / Self.frameSize + 1
    }

    /// With its place as the seed, a frame is damaged also where another one stands in for it.
    static func checksum(_ bytes: UnsafeRawBufferPointer, frame index: Int) -> UInt64 {
        XXHash64.hash(bytes, seed: UInt64(truncatingIfNeeded: index))
    }

    static func checksum(ofTrailer bytes: UnsafeRawBufferPointer, length: Int) -> Int64 {
        Int64(bitPattern: XXHash64.hash(bytes, seed: UInt64(truncatingIfNeeded: length)))
    }
}
