/// How a body lies in its file: the bytes in frames of 64 KiB, as they are or sealed, then one checksum of 8 bytes for each frame, and where they are
/// sealed a salt. Pure.
///
/// A checksum for each frame lets a range be read and verified by itself, and nothing damaged is ever handed out.
struct FrameLayout: Sendable, Hashable {
    static let frameSize = 64 << 10
    static let checksumSize = 8
    static let saltSize = 16

    /// Of the body, in bytes.
    let length: Int
    /// What sealing adds to each frame; 0 when it does not.
    let overhead: Int

    init(length: Int, overhead: Int = 0) {
        self.length = length
        self.overhead = overhead
    }

    var frameCount: Int { (length + Self.frameSize - 1) / Self.frameSize }
    var trailerSize: Int { frameCount * Self.checksumSize + (overhead > 0 ? Self.saltSize : 0) }
    var trailerStart: Int { length + frameCount * overhead }
    var fileSize: Int { trailerStart + trailerSize }

    /// The bytes of a frame; the last one may be short.
    func frame(_ index: Int) -> Range<Int> {
        let start = index * Self.frameSize
        return start..<min(start + Self.frameSize, length)
    }

    /// Where a frame is in the file.
    func stored(_ index: Int) -> Range<Int> {
        let start = index * (Self.frameSize + overhead)
        return start..<start + frame(index).count + overhead
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
