#if Images
import Glibc

/// Functions of glibc that Swift's Glibc module leaves out, as it is compiled without `_GNU_SOURCE`.
enum LinuxCalls {
    typealias MemoryFile = @convention(c) (UnsafePointer<CChar>, UInt32) -> Int32
    typealias ProcessLimit = @convention(c) (pid_t, Int32, UnsafePointer<rlimit>?, UnsafeMutablePointer<rlimit>?) -> Int32

    // Safety: the types are those of the manual pages memfd_create(2) and prlimit(2); the resource is an enumeration there, and so an
    // integer of 32 bits.
    static let memfd_create: MemoryFile? = find("memfd_create").map { unsafeBitCast($0, to: MemoryFile.self) }
    static let prlimit: ProcessLimit? = find("prlimit").map { unsafeBitCast($0, to: ProcessLimit.self) }

    private static func find(_ name: String) -> UnsafeMutableRawPointer? { dlsym(nil, name) }
}
#endif
