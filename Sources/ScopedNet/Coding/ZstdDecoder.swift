#if Zstd
import CZstd

/// Undoes `zstd` (RFC 8878): one frame or several, skippable ones included. What follows a frame must be another frame.
///
/// The window is limited to 8 MiB, the most RFC 9659 lets a sender use for this content coding. Frames of the versions before 1.0, which many
/// builds of the library still read, are none of it: what comes out of them depends on how they are cut.
final class ZstdDecoder: DecodingStage {
    private static let maxWindowLog: Int32 = 23

    private let decoder: OpaquePointer?
    private var isInsideFrame = false
    /// The first bytes of a frame, until there are four.
    private var magic: [UInt8] = []

    init() {
        decoder = ZSTD_createDCtx()
        if let decoder {
            ZSTD_DCtx_setParameter(decoder, ZSTD_d_windowLogMax, Self.maxWindowLog)
        }
    }

    deinit {
        ZSTD_freeDCtx(decoder)
    }

    var coding: String { "zstd" }

    func step(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(ContentDecodingError) -> Int {
        guard let decoder else { throw .corrupt(coding: coding, detail: "no memory") }
        // Between two frames there is nothing left to come out; a call would only ask for the next header.
        if !isInsideFrame {
            guard try beginFrame(decoder, &input) else { return 0 }
        }
        var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
        var target = ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
        let result = ZSTD_decompressStream(decoder, &target, &source)
        guard ZSTD_isError(result) == 0 else {
            throw .corrupt(coding: coding, detail: String(cString: ZSTD_getErrorName(result)))
        }
        // 0 says that a frame is complete and everything of it has come out.
        isInsideFrame = result != 0
        input = UnsafeRawBufferPointer(rebasing: input[source.pos...])
        return target.pos
    }

    /// Takes the first four bytes of a frame.
    ///
    /// - Returns: false while there are fewer.
    private func beginFrame(_ decoder: OpaquePointer, _ input: inout UnsafeRawBufferPointer) throws(ContentDecodingError) -> Bool {
        let wanted = min(4 - magic.count, input.count)
        magic += input.prefix(wanted)
        input = UnsafeRawBufferPointer(rebasing: input.dropFirst(wanted))
        guard magic.count == 4 else { return false }
        // 0xFD2FB528 and 0x184D2A50 to 0x184D2A5F (RFC 8878 section 3.1), in little-endian order.
        guard magic == [0x28, 0xb5, 0x2f, 0xfd] || magic[0] & 0xf0 == 0x50 && magic[1...] == [0x2a, 0x4d, 0x18] else {
            throw .corrupt(coding: coding, detail: "no frame of RFC 8878")
        }
        let result = magic.withUnsafeBytes { bytes in
            var source = ZSTD_inBuffer(src: bytes.baseAddress, size: bytes.count, pos: 0)
            var target = ZSTD_outBuffer(dst: nil, size: 0, pos: 0)
            return ZSTD_decompressStream(decoder, &target, &source)
        }
        guard ZSTD_isError(result) == 0 else { throw .corrupt(coding: coding, detail: String(cString: ZSTD_getErrorName(result))) }
        magic = []
        isInsideFrame = true
        return true
    }

    func finish() throws(ContentDecodingError) {
        if isInsideFrame || !magic.isEmpty { throw .truncated(coding: coding) }
    }
}
#endif
