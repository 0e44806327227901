#if Zstd
import CZstd

/// Undoes `zstd` (RFC 8878): one frame or several, skippable ones included. What follows a frame must be another frame.
///
/// The window is limited to 8 MiB, the most RFC 9659 lets a sender use for this content coding.
final class ZstdDecoder: DecodingStage {
    private static let maxWindowLog: Int32 = 23

    private let decoder: OpaquePointer?
    private var isInsideFrame = false

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
        // Between two frames there is nothing left to come out; a call would only ask for the next header.
        if input.isEmpty && !isInsideFrame { return 0 }
        guard let decoder else { throw .corrupt(coding: coding, detail: "no memory") }
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

    func finish() throws(ContentDecodingError) {
        if isInsideFrame { throw .truncated(coding: coding) }
    }
}
#endif
