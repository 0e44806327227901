internal import CThread
package import Glibc

/// Threads of the library's own: with a name, and with the program's signals blocked.
///
/// The program's signal handlers run on the program's threads, and a peer that is gone or a file that may not grow is an error here, not a SIGPIPE
/// or a SIGXFSZ. Faults of the thread itself stay deliverable.
package enum SystemThread {
    private final class Body {
        let name: String
        let run: () -> Void
        init(_ name: String, _ run: sending @escaping () -> Void) {
            self.name = name
            self.run = run
        }
    }

    /// The number of threads of each name that have not come to their end. Exact: the kernel's names are inherited by whatever a thread starts, and a
    /// thread that has ended is listed until the C library is done with it.
    private static let running = Lock<[String: Int]>([:])

    /// The number of threads of each name that run.
    package static var census: [String: Int] { running.withLock { $0.filter { $0.value > 0 } } }

    private static func count(_ name: String, by change: Int) { running.withLock { $0[name, default: 0] += change } }

    private static var programSignals: sigset_t {
        var signals = sigset_t()
        sigfillset(&signals)
        for fault in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS] { sigdelset(&signals, fault) }
        return signals
    }

    /// Starts a thread.
    ///
    /// - Parameters:
    ///   - name: shown by ps(1) and debuggers: 15 bytes at most.
    ///   - stackBytes: nil for the system's own size, which code of the program may count on.
    ///   - isDetached: a thread that is not has to be joined (pthread_join(3)).
    ///   - body: is released on the new thread; where there is none, on this one.
    /// - Returns: the thread.
    /// - Throws: the reason why the process can have no further thread.
    @discardableResult
    package static func start(
        name: String, stackBytes: Int? = 512 << 10, isDetached: Bool = true, _ body: sending @escaping () -> Void
    ) throws(SystemFailure) -> pthread_t {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        if isDetached { pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED)) }
        if let stackBytes { pthread_attr_setstacksize(&attributes, stackBytes) }
        var thread = pthread_t()
        // Safety: the box is handed to the new thread, which balances the retain; where there is no thread it is balanced here.
        let box = Unmanaged.passRetained(Body(name, body))
        // Inherited, so that not even the thread's first instruction meets a signal of the program's.
        var before = sigset_t()
        var blocked = programSignals
        pthread_sigmask(SIG_SETMASK, &blocked, &before)
        count(name, by: 1)
        let code = pthread_create(
            &thread, &attributes,
            { argument in
                guard let argument else { return nil }
                let body = Unmanaged<Body>.fromOpaque(argument).takeRetainedValue()
                _ = pthread_setname_np(pthread_self(), body.name)
                body.run()
                SystemThread.count(body.name, by: -1)
                return nil
            }, box.toOpaque())
        pthread_sigmask(SIG_SETMASK, &before, nil)
        guard code == 0 else {
            box.release()
            count(name, by: -1)
            throw SystemFailure("thread", code)
        }
        return thread
    }

    /// Makes a thread of that name, and returns false when the process can have none.
    package typealias Make = @Sendable (_ name: String, _ body: @escaping @Sendable () -> Void) -> Bool

    /// Starts a detached thread of the usual size, or returns false when the process can have no further one.
    @Sendable
    package static func make(_ name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        do throws(SystemFailure) { try start(name: name, body) } catch { return false }
        return true
    }
}
