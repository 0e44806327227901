import Glibc

/// Bytes that are written once, before anybody else sees them, and freed with the last picture that has them.
final class PixelBuffer: @unchecked Sendable {
    // Safety: written by `init` alone, read-only afterwards, freed by `deinit`, when no other reference exists.
    private let bytes: UnsafeMutableRawBufferPointer

    init(byteCount: Int, _ fill: (UnsafeMutableRawBufferPointer) throws -> Void) throws {
        // Zeroed by the kernel where it is large: pages that are not written to cost nothing.
        guard let start = calloc(max(1, byteCount), 1) else { throw ImageError.exceeds(.decodedBytes, actual: byteCount, most: 0) }
        let bytes = UnsafeMutableRawBufferPointer(start: start, count: byteCount)
        do { try fill(bytes) } catch {
            free(start)
            throw error
        }
        self.bytes = bytes
    }

    deinit { free(bytes.baseAddress) }

    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result { try body(UnsafeRawBufferPointer(bytes)) }
}
