#if Images
import Glibc
import SystemSupport

/// A process of `scopednet-decoder`. It ends with this object, and is reaped then.
final class HelperProcess: Sendable {
    /// The end of a process.
    enum Ending: Sendable, Hashable {
        case status(Int32), signal(Int32)
        /// Another part of the program has waited for it.
        case unknown
    }

    var pid: pid_t { handle.pid }
    private let handle: ProcessHandle
    let socket: HelperSocket
    /// The clock of its processor time.
    private let clock: clockid_t?
    private let ending = Lock<Ending?>(nil)

    /// Starts a process.
    ///
    /// - Parameters:
    ///   - path: its program.
    ///   - addressSpace: the most bytes that it maps.
    /// - Throws: ``ImageIsolationError/helperUnusable(_:)``.
    init(path: String, addressSpace: Int) throws(ImageIsolationError) {
        do {
            let (ours, theirs) = try HelperSocket.makePair()
            defer { close(theirs) }
            socket = HelperSocket(descriptor: ours)
            handle = ProcessHandle(try Self.spawn(path, [path, "\(addressSpace)"], socket: theirs))
        } catch {
            throw .helperUnusable("\(path): \(error)")
        }
        var clock = clockid_t()
        self.clock = clock_getcpuclockid(handle.pid, &clock) == 0 ? clock : nil
    }

    deinit { end() }

    /// True after ``end()``.
    var hasEnded: Bool { ending.withLock { $0 != nil } }

    /// Ends it at once, and reaps it. Idempotent.
    @discardableResult
    func end() -> Ending {
        ending.withLock { ending in
            if let ending { return ending }
            // One that has ended by itself keeps its own ending.
            handle.kill()
            let reaped = handle.reap() ?? .unknown
            ending = reaped
            return reaped
        }
    }

    /// Raises the limit of processor time, which counts from the start of the process, to that of one more picture. The helper cannot:
    /// prlimit(2) is not among the calls that it is allowed. It holds when this program has ended, too.
    ///
    /// By number, as the kernel has no such call for a descriptor: the caller has just seen that the socket is open at the helper's end.
    func allowProcessorTime(seconds: Int) {
        var used = timespec()
        guard let clock, clock_gettime(clock, &used) == 0, let setLimit = LinuxCalls.prlimit else { return }
        let (most, overflows) = (max(0, used.tv_sec) + 1).addingReportingOverflow(max(1, seconds))
        // RLIM_INFINITY is the largest number.
        var limit = rlimit(rlim_cur: overflows ? .max : rlim_t(most), rlim_max: .max)
        _ = setLimit(pid, Int32(bitPattern: RLIMIT_CPU.rawValue), &limit, nil)
    }

    /// Starts a program with the socket at descriptor 3, /dev/null at the first three, no signal blocked or ignored, and next to no
    /// environment. It is in a process group of its own, so that a Ctrl-C in the terminal is not for it.
    private static func spawn(_ path: String, _ arguments: [String], socket: Int32) throws(SystemFailure) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // First, as it may be one of the first three itself.
        posix_spawn_file_actions_adddup2(&actions, socket, 3)
        for descriptor: Int32 in 0..<3 { posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var (none, all) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
        var words = arguments.map { strdup($0) } + [nil]
        var variables = environment.map { strdup($0) } + [nil]
        defer { for text in words + variables { free(text) } }
        var child: pid_t = 0
        let code = posix_spawn(&child, path, &actions, &attributes, &words, &variables)
        guard code == 0 else { throw SystemFailure("posix_spawn", code) }
        return child
    }

    /// The place of shared libraries. Other variables change what codecs do (`JPEGMEM`), or are none of their business.
    private static var environment: [String] {
        ["SWIFT_BACKTRACE=enable=no"] + (HelperLocation.value(of: "LD_LIBRARY_PATH").map { ["LD_LIBRARY_PATH=\($0)"] } ?? [])
    }
}
#endif
