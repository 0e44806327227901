import Glibc
@_spi(Census) import ScopedNet

/// Bytes that are written once, before anything else sees them, and freed with the last picture that has them.
final class PixelBuffer: @unchecked Sendable {
    // Safety: written by `init` alone, or before it, read-only afterwards, freed by `deinit`, when no other reference exists.
    private let bytes: UnsafeRawBufferPointer
    private let isMapped: Bool

    init(byteCount: Int, _ fill: (UnsafeMutableRawBufferPointer) throws -> Void) throws {
        // Zeroed by the kernel where it is large: pages that are not written to cost nothing.
        guard let start = calloc(max(1, byteCount), 1) else { throw ImageError.exceeds(.decodedBytes, actual: byteCount, most: 0) }
        do { try fill(UnsafeMutableRawBufferPointer(start: start, count: byteCount)) } catch {
            free(start)
            throw error
        }
        (bytes, isMapped) = (UnsafeRawBufferPointer(start: start, count: byteCount), false)
        LiveObjects.born(.imageBuffer)
    }

    /// Copies bytes, without zeroing their place first.
    init(copying source: UnsafeRawBufferPointer) throws {
        guard let start = malloc(max(1, source.count)) else { throw ImageError.exceeds(.decodedBytes, actual: source.count, most: 0) }
        if let from = source.baseAddress { memcpy(start, from, source.count) }
        (bytes, isMapped) = (UnsafeRawBufferPointer(start: start, count: source.count), false)
        LiveObjects.born(.imageBuffer)
    }

    /// Takes over a mapping that nothing writes to any more, and unmaps it at the end.
    init(mapped bytes: UnsafeRawBufferPointer) {
        (self.bytes, isMapped) = (bytes, true)
        LiveObjects.born(.imageBuffer)
    }

    deinit {
        let start = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
        if isMapped, let start { munmap(start, bytes.count) } else { free(start) }
        LiveObjects.died(.imageBuffer)
    }

    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result { try body(bytes) }
}
