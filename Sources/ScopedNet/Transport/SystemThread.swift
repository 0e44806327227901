import CEpoll
import Glibc

/// Threads of the library's own, detached and deaf to the program's signals.
enum SystemThread {
    /// The program's signal handlers run on the program's threads, and a peer that is gone or a
    /// file that may not grow is an error here, not a SIGPIPE or a SIGXFSZ. Faults of the thread
    /// itself stay deliverable.
    private static var programSignals: sigset_t {
        var signals = sigset_t()
        sigfillset(&signals)
        for fault in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS] { sigdelset(&signals, fault) }
        return signals
    }

    /// Names the present thread for ps(1) and debuggers: 15 bytes at most.
    static func setName(_ name: String) { pthread_setname_np(pthread_self(), name) }

    /// Starts a thread of `stackBytes`, nil for the system's own size. Returns zero, or an `errno` value; `entry` is not called then.
    static func start(
        stackBytes: Int?, _ context: UnsafeMutableRawPointer,
        _ entry: @escaping @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
    ) -> Int32 {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        if let stackBytes { pthread_attr_setstacksize(&attributes, stackBytes) }
        defer { pthread_attr_destroy(&attributes) }
        var thread = pthread_t()
        // Inherited, so that not even the thread's first instruction meets a signal of the
        // program's.
        var before = sigset_t()
        var blocked = programSignals
        pthread_sigmask(SIG_SETMASK, &blocked, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        return pthread_create(&thread, &attributes, entry, context)
    }
}
