/// The pixels of a frame of a GIF: indices of a palette, packed by LZW with codes of 2 to 12 bits (GIF89a appendix F).
struct GIFPixels {
    private static let mostCodes = 4_096

    /// - Returns: the indices, row by row as stored. Where the data ends early the rest is nil: it is not drawn.
    static func read(_ bytes: ByteView, at start: Int, count: Int) -> (indices: [UInt8], read: Int) {
        var indices = [UInt8](repeating: 0, count: count)
        let read = indices.withUnsafeMutableBufferPointer { output in
            var pixels = GIFPixels(bytes, at: start)
            return pixels.unpack(into: output)
        }
        return (indices, read)
    }

    private let bytes: ByteView
    private let minimum: Int
    private var offset: Int
    /// Bytes that are left of the sub-block.
    private var left = 0
    private var (buffer, held) = (UInt32(0), 0)
    private var prefixes = [UInt16](repeating: 0, count: mostCodes)
    private var suffixes = [UInt8](repeating: 0, count: mostCodes)
    private var lengths = [UInt16](repeating: 0, count: mostCodes)
    private var firsts = [UInt8](repeating: 0, count: mostCodes)

    private init(_ bytes: ByteView, at start: Int) {
        self.bytes = bytes
        minimum = Int(bytes.u8(start) ?? 2)
        offset = start + 1
        for code in 0..<1 << min(minimum, 11) {
            (suffixes[code], firsts[code], lengths[code]) = (UInt8(truncatingIfNeeded: code), UInt8(truncatingIfNeeded: code), 1)
        }
    }

    /// The next code; nil where there is none.
    private mutating func code(of width: Int) -> Int? {
        while held < width {
            while left == 0 {
                guard let length = bytes.u8(offset), length > 0 else { return nil }
                (left, offset) = (Int(length), offset + 1)
            }
            guard let byte = bytes.u8(offset) else { return nil }
            buffer |= UInt32(byte) << UInt32(held)
            (held, left, offset) = (held + 8, left - 1, offset + 1)
        }
        defer {
            buffer >>= UInt32(width)
            held -= width
        }
        return Int(buffer & (1 << UInt32(width) - 1))
    }

    /// - Returns: the number of indices that came.
    private mutating func unpack(into output: UnsafeMutableBufferPointer<UInt8>) -> Int {
        let (clear, end) = (1 << minimum, 1 << minimum + 1)
        var (width, next, previous, position) = (minimum + 1, end + 1, -1, 0)
        while position < output.count, let code = code(of: width) {
            if code == clear {
                (width, next, previous) = (minimum + 1, end + 1, -1)
                continue
            }
            if code == end { break }
            guard code < next || code == next && previous >= 0 else { break }
            if previous >= 0, next < Self.mostCodes {
                // The string of the last code, and one more: the first of this code's, which for the newest code is the last one's own.
                prefixes[next] = UInt16(truncatingIfNeeded: previous)
                firsts[next] = firsts[previous]
                suffixes[next] = firsts[code == next ? previous : code]
                lengths[next] = lengths[previous] &+ 1
                next += 1
                if next == 1 << width, width < 12 { width += 1 }
            }
            guard code < Self.mostCodes else { break }
            write(code, to: output, &position)
            previous = code
        }
        return position
    }

    /// A string is found from its end.
    private func write(_ code: Int, to output: UnsafeMutableBufferPointer<UInt8>, _ position: inout Int) {
        let length = Int(lengths[code])
        var (code, place) = (code, position + length - 1)
        while place >= position {
            if place < output.count { output[place] = suffixes[code] }
            code = Int(prefixes[code])
            place -= 1
        }
        position = min(position + length, output.count)
    }
}
