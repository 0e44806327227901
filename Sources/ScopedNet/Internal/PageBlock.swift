import Glibc

/// A large block of memory in pages of its own (mmap(2)). The system has them back when the block is released, where malloc would keep them between blocks
/// that stay. Pages cost nothing before they are written to. Behind the last one is one that nobody can write to.
///
/// From 2 MiB on the kernel is asked for large pages: to make a small one takes as long as to write some kilobytes, in a virtual machine more.
package struct PageBlock: @unchecked Sendable {
    // Safety: an address and a length. The one owner releases it, and orders what is written and read.

    /// The first of the bytes, which end within 16 bytes of the last page.
    package let start: UnsafeMutableRawPointer
    private let mapping: UnsafeMutableRawPointer
    private let mappedCount: Int
    private static let largePage = 2 << 20
    /// MADV_POPULATE_WRITE, since Linux 5.14.
    private static let populateWrite: Int32 = 23

    /// Makes a block of zeros; nil where there is no memory.
    ///
    /// - Parameters:
    ///   - byteCount: the length.
    ///   - isFilledNext: true where all of it is written at once: up to 8 MiB the pages are made in one go.
    package init?(byteCount: Int, isFilledNext: Bool = false) {
        let page = sysconf(Int32(_SC_PAGESIZE))
        guard byteCount > 0, byteCount < Int.max / 2 else { return nil }
        let used = (byteCount + page - 1) / page * page
        let isLarge = used >= Self.largePage
        mappedCount = used + page + (isLarge ? Self.largePage : 0)
        let flags = MAP_PRIVATE | Int32(MAP_ANONYMOUS) | Int32(MAP_NORESERVE)
        guard let mapping = mmap(nil, mappedCount, PROT_NONE, flags, -1, 0), mapping != MAP_FAILED else { return nil }
        self.mapping = mapping
        let first = isLarge ? mapping.alignedUp(toMultipleOf: Self.largePage) : mapping
        guard mprotect(first, used, PROT_READ | PROT_WRITE) == 0 else {
            munmap(mapping, mappedCount)
            return nil
        }
        // Both are wishes: without them pages are made one by one.
        if isLarge { _ = madvise(first, used, Int32(MADV_HUGEPAGE)) }
        if isFilledNext, used <= 4 * Self.largePage { _ = madvise(first, used, Self.populateWrite) }
        start = first + (used - (byteCount + 15) / 16 * 16)
    }

    /// Gives the pages back. Once, when nobody has the address any more.
    package func release() { munmap(mapping, mappedCount) }
}
