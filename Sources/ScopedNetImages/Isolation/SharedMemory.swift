#if Images
import FoundationEssentials
import Glibc
import SystemSupport

/// A file in memory (memfd_create(2)) that another process maps as well. It cannot become shorter, so that a mapping never faults.
struct SharedMemory: ~Copyable {
    let descriptor: Int32
    let byteCount: Int

    /// Makes one that both processes can write to, zero at first.
    static func empty(byteCount: Int) throws(SystemFailure) -> SharedMemory {
        let memory = SharedMemory(descriptor: try create(), byteCount: byteCount)
        guard ftruncate(memory.descriptor, byteCount) == 0 else { throw SystemFailure("ftruncate") }
        try memory.seal(Seals.size)
        return memory
    }

    /// Makes a copy of `data` that no process can write to.
    static func copy(of data: Data) throws(SystemFailure) -> SharedMemory {
        let memory = SharedMemory(descriptor: try create(), byteCount: data.count)
        try memory.write(data)
        try memory.seal(Seals.size | Seals.write | Seals.more)
        return memory
    }

    private init(descriptor: Int32, byteCount: Int) { (self.descriptor, self.byteCount) = (descriptor, byteCount) }

    deinit { close(descriptor) }

    /// Writes `data` to its start, by a system call: one that finds no memory fails, and where this process had it mapped, it would crash.
    func write(_ data: Data) throws(SystemFailure) {
        guard data.withUnsafeBytes({ write($0, at: 0) }) else { throw SystemFailure("pwrite") }
    }

    /// Writes zeros to a part of it.
    func clear(_ part: Range<Int>) throws(SystemFailure) {
        for offset in stride(from: part.lowerBound, to: part.upperBound, by: Self.zeros.count) {
            let count = min(Self.zeros.count, part.upperBound - offset)
            let isWritten = Self.zeros.withUnsafeBytes { write(UnsafeRawBufferPointer(rebasing: $0.prefix(count)), at: offset) }
            guard isWritten else { throw SystemFailure("pwrite") }
        }
    }

    /// Few enough bytes to stay in the processor's cache.
    private static let zeros = [UInt8](repeating: 0, count: 16 << 10)

    /// Ends all writing.
    ///
    /// - Throws: `EBUSY` where a process has it mapped, and could still write.
    func sealContents() throws(SystemFailure) { try seal(Seals.write | Seals.more) }

    /// Lends what is in it, read into memory in one go.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) throws -> Result {
        let bytes = try map()
        defer { munmap(UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count) }
        return try body(bytes)
    }

    /// Maps it for reading; the caller unmaps it. It outlives this value.
    ///
    /// Private, although nothing is written: kernels before 6.7 have no shared mapping of what is sealed against writes.
    func map() throws(SystemFailure) -> UnsafeRawBufferPointer {
        let start = mmap(nil, byteCount, PROT_READ, MAP_PRIVATE | Int32(MAP_POPULATE), descriptor, 0)
        guard let start, start != MAP_FAILED else { throw SystemFailure("mmap") }
        return UnsafeRawBufferPointer(start: start, count: byteCount)
    }

    /// Seals of <linux/fcntl.h>.
    private enum Seals {
        /// F_SEAL_SHRINK and F_SEAL_GROW.
        static let size: Int32 = 0x2 | 0x4
        /// F_SEAL_WRITE.
        static let write: Int32 = 0x8
        /// F_SEAL_SEAL: there will be no others.
        static let more: Int32 = 0x1
        /// F_ADD_SEALS.
        static let command: Int32 = 1024 + 9
    }

    private func seal(_ seals: Int32) throws(SystemFailure) {
        guard fcntl(descriptor, Seals.command, seals) == 0 else { throw SystemFailure("fcntl(F_ADD_SEALS)") }
    }

    /// MFD_CLOEXEC, MFD_ALLOW_SEALING and MFD_NOEXEC_SEAL of <linux/memfd.h>; the last one since Linux 6.3.
    private static func create() throws(SystemFailure) -> Int32 {
        guard let memfd_create = LinuxCalls.memfd_create else { throw SystemFailure("memfd_create", ENOSYS) }
        for flags: UInt32 in [0x1 | 0x2 | 0x8, 0x1 | 0x2] {
            let descriptor = memfd_create("scopednet-picture", flags)
            if descriptor >= 0 { return descriptor }
            guard errno == EINVAL else { break }
        }
        throw SystemFailure("memfd_create")
    }

    private func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = pwrite(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count, offset + rest.startIndex)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
#endif
