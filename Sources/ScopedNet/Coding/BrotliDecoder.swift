#if Brotli
import CBrotli

/// Undoes `br` (RFC 7932). Bytes behind the end of the stream are ignored, as browsers do.
///
/// Windows larger than the RFC's 16 MiB ("large window brotli") stay off, so a header cannot ask for more memory than that.
final class BrotliDecoder: DecodingStage {
    private enum State {
        case initial, inside, ended
    }

    private var state = State.initial
    private let decoder: OpaquePointer?

    init() {
        decoder = BrotliDecoderCreateInstance(nil, nil, nil)
    }

    deinit {
        BrotliDecoderDestroyInstance(decoder)
    }

    var coding: String { "br" }

    func step(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(ContentDecodingError) -> Int {
        switch state {
        case .initial where input.isEmpty: return 0
        case .initial, .inside: return try decompress(&input, into: output)
        case .ended:
            input = UnsafeRawBufferPointer(start: nil, count: 0)
            return 0
        }
    }

    func finish() throws(ContentDecodingError) {
        if state == .inside { throw .truncated(coding: coding) }
    }

    private func decompress(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(ContentDecodingError) -> Int {
        guard let decoder else { throw .corrupt(coding: coding, detail: "no memory") }
        state = .inside
        var availableIn = input.count
        var nextIn = input.bindMemory(to: UInt8.self).baseAddress
        var availableOut = output.count
        var nextOut = output.bindMemory(to: UInt8.self).baseAddress
        let result = BrotliDecoderDecompressStream(decoder, &availableIn, &nextIn, &availableOut, &nextOut, nil)
        input = UnsafeRawBufferPointer(rebasing: input[(input.count - availableIn)...])
        switch result {
        case BROTLI_DECODER_RESULT_SUCCESS: state = .ended
        case BROTLI_DECODER_RESULT_ERROR:
            let detail = BrotliDecoderErrorString(BrotliDecoderGetErrorCode(decoder)).map { String(cString: $0) }
            throw .corrupt(coding: coding, detail: detail ?? "unknown error")
        default: break  // It wants more input or more room; both are the caller's to give.
        }
        return output.count - availableOut
    }
}
#endif
