import CNetlink
import Glibc

/// Threads of this module: small, with the program's signals blocked.
enum SystemThread {
    private final class Body {
        let run: () -> Void
        init(_ run: sending @escaping () -> Void) { self.run = run }
    }

    /// Starts a thread. One that is detached need not be joined: it cleans up after itself.
    @discardableResult
    static func spawn(
        isDetached: Bool = false, _ body: sending @escaping () -> Void
    ) throws(SystemFailure) -> pthread_t {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        if isDetached { pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED)) }
        pthread_attr_setstacksize(&attributes, 512 << 10)
        var thread = pthread_t()
        // Safety: the box is handed to the new thread, which balances the retain; where there is no thread it is balanced here.
        let box = Unmanaged.passRetained(Body(body))
        // The signals are blocked before the thread exists: none is delivered to it, ever.
        var old = sigset_t()
        var blocked = sigset_t()
        sigfillset(&blocked)
        for fault in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS] { sigdelset(&blocked, fault) }
        pthread_sigmask(SIG_BLOCK, &blocked, &old)
        let code = pthread_create(
            &thread, &attributes,
            { argument in
                guard let argument else { return nil }
                let body = Unmanaged<Body>.fromOpaque(argument).takeRetainedValue()
                cnl_name_thread("reachability")
                body.run()
                return nil
            }, box.toOpaque())
        pthread_sigmask(SIG_SETMASK, &old, nil)
        guard code == 0 else {
            box.release()
            throw SystemFailure("thread", code)
        }
        return thread
    }
}
