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

    /// A descriptor of a process, closed in children; negative where the kernel or this process has none left.
    static func openProcess(_ pid: pid_t) -> Int32 { Int32(truncatingIfNeeded: call?(434, Int(pid), 0, 0, 0) ?? -1) }

    /// Sends SIGKILL to the process of a descriptor. Returns false where it has been reaped.
    static func kill(_ descriptor: Int32) -> Bool { call?(424, Int(descriptor), Int(SIGKILL), 0, 0) == 0 }

    private typealias Call = @convention(c) (Int, Int, Int, Int, Int) -> Int
    // Safety: syscall(2) takes a number and up to six values of a register each, and reads no more of them than the call has. The numbers
    // here (pidfd_open and pidfd_send_signal) are the same on all machines. On those of 64 bits that Swift runs on, with Linux, integers of
    // variadic functions are passed in the registers of any others.
    private static let call: Call? = find("syscall").map { unsafeBitCast($0, to: Call.self) }

    private static func find(_ name: String) -> UnsafeMutableRawPointer? { dlsym(nil, name) }
}
#endif
