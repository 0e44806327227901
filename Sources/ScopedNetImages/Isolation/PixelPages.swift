#if Images
import Glibc

/// Memory for pixels that a helper is still at work on. Its pages are made meanwhile, by this process: to make them takes longer than to
/// copy the pixels into them.
struct PixelPages: ~Copyable {
    /// Below this the memory allocator has pages at hand as a rule.
    private static let leastByteCount = 1 << 20
    /// MADV_POPULATE_WRITE of <linux/mman.h>, since Linux 5.14. Older kernels make each page when it is written to.
    private static let populate: Int32 = 23

    private let bytes: UnsafeMutableRawBufferPointer

    /// - Returns: nil for few bytes, or where no address is free.
    init?(_ byteCount: Int) {
        guard byteCount >= Self.leastByteCount else { return nil }
        let start = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let start, start != MAP_FAILED else { return nil }
        bytes = UnsafeMutableRawBufferPointer(start: start, count: byteCount)
    }

    deinit { munmap(bytes.baseAddress, bytes.count) }

    /// Makes the pages. They are there later where this fails.
    func make() { madvise(bytes.baseAddress, bytes.count, Self.populate) }

    /// Copies as many bytes as there are here. The caller unmaps them.
    consuming func filled(with pixels: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        bytes.copyMemory(from: pixels)
        let filled = UnsafeRawBufferPointer(bytes)
        discard self
        return filled
    }
}
#endif
