#if Images
import Glibc
import SystemSupport

/// The memory in which a helper hands over small pictures, one after the other.
///
/// The pages stay in both processes: a fault on each page of new memory takes longer than to copy what is in it. The helper can write to it
/// at any time, so that pixels are copied from it before they are used, and no later write has an effect on them.
final class HelperScratch: @unchecked Sendable {
    /// The most bytes of a small picture: those of a megapixel.
    static let byteCount = 4 << 20

    // Safety: the mapping is as long as the file, which cannot become shorter, and is unmapped by `deinit`. The thread that has the helper
    // reads it, in copies of bytes that may have any value.
    private let bytes: UnsafeRawBufferPointer
    let memory: SharedMemory

    init() throws(SystemFailure) {
        memory = try SharedMemory.empty(byteCount: Self.byteCount)
        let start = mmap(nil, Self.byteCount, PROT_READ, MAP_SHARED, memory.descriptor, 0)
        guard let start, start != MAP_FAILED else { throw SystemFailure("mmap") }
        bytes = UnsafeRawBufferPointer(start: start, count: Self.byteCount)
    }

    deinit { munmap(UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count) }

    /// A copy of the first `count` bytes.
    func copy(_ count: Int) throws -> PixelBuffer { try PixelBuffer.copying(UnsafeRawBufferPointer(rebasing: bytes.prefix(count))) }
}
#endif
