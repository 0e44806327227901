import CZlib

/// Undoes `gzip` (RFC 1952) and `deflate` (RFC 1950, or bare RFC 1951).
///
/// A `gzip` body may hold several members, one behind the other. Bytes behind a complete stream that do not begin another
/// member (zero padding, a line end) are ignored, as browsers do.
final class ZlibDecoder: DecodingStage {
    enum Format {
        case gzip, deflate
    }

    private enum State {
        /// No byte was seen.
        case initial
        /// Inside a stream.
        case inside
        /// Behind a gzip member: another one may follow.
        case between
        /// Behind the end. What follows is ignored.
        case ended
    }

    private let format: Format
    private var state = State.initial

    /// On the heap: zlib keeps the stream's own address and refuses a moved one.
    private let stream: UnsafeMutablePointer<z_stream>

    init(_ format: Format) {
        self.format = format
        self.stream = .allocate(capacity: 1)
        self.stream.initialize(to: z_stream())
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    var coding: String {
        switch format {
        case .gzip: "gzip"
        case .deflate: "deflate"
        }
    }

    func step(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(ContentDecodingError) -> Int {
        switch state {
        case .initial:
            guard let first = input.first else { return 0 }
            try begin(first)
            return try inflate(&input, into: output)
        case .inside:
            return try inflate(&input, into: output)
        case .between:
            guard let first = input.first else { return 0 }
            // The first magic byte of a gzip header is enough: were the second one wrong, the body would be corrupt.
            guard first == 0x1f else {
                state = .ended
                input = UnsafeRawBufferPointer(start: nil, count: 0)
                return 0
            }
            try check(inflateReset(stream))
            state = .inside
            return try inflate(&input, into: output)
        case .ended:
            input = UnsafeRawBufferPointer(start: nil, count: 0)
            return 0
        }
    }

    func finish() throws(ContentDecodingError) {
        switch state {
        case .initial, .between, .ended: return
        case .inside: throw .truncated(coding: coding)
        }
    }

    private func begin(_ firstByte: UInt8) throws(ContentDecodingError) {
        // 8…15: a window for the format named; +16: expect the gzip wrapper; negative: no wrapper at all.
        let windowBits: Int32 =
            switch format {
            case .gzip: 15 + 16
            case .deflate: Self.opensZlibWrapper(firstByte) ? 15 : -15
            }
        try check(scopednet_inflate_init(stream, windowBits))
        state = .inside
    }

    /// The wrapper's first byte is the method (8) and the window size (at most 7). In a bare stream such a byte would open a
    /// stored block whose padding is not zero, which no encoder writes; so one byte decides.
    private static func opensZlibWrapper(_ byte: UInt8) -> Bool {
        byte & 0x0f == 8 && byte >> 4 <= 7
    }

    private func inflate(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(ContentDecodingError) -> Int {
        let offered = min(input.count, 1 << 30)
        // Safety: zlib reads through `next_in` only, its type merely lacks the `const`.
        stream.pointee.next_in = UnsafeMutablePointer(mutating: input.bindMemory(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = UInt32(offered)
        stream.pointee.next_out = output.bindMemory(to: UInt8.self).baseAddress
        stream.pointee.avail_out = UInt32(output.count)
        defer {
            stream.pointee.next_in = nil
            stream.pointee.next_out = nil
        }
        let result = CZlib.inflate(stream, Z_NO_FLUSH)
        input = UnsafeRawBufferPointer(rebasing: input[(offered - Int(stream.pointee.avail_in))...])
        let produced = output.count - Int(stream.pointee.avail_out)
        switch result {
        case Z_STREAM_END: state = format == .gzip ? .between : .ended
        case Z_BUF_ERROR: break  // Nothing to do without more input: not an error of the stream.
        default: try check(result)
        }
        return produced
    }

    private func check(_ result: Int32) throws(ContentDecodingError) {
        guard result != Z_OK else { return }
        let detail =
            switch result {
            case Z_NEED_DICT: "it needs a preset dictionary"
            case Z_MEM_ERROR: "no memory"
            default: stream.pointee.msg.map { String(cString: $0) } ?? "zlib error \(result)"
            }
        throw .corrupt(coding: coding, detail: detail)
    }
}
