import CStore
import Glibc

/// Threads of this module: small, detached, with the program's signals blocked.
package enum SystemThread {
    private final class Body {
        let name: String
        let run: () -> Void
        init(_ name: String, _ run: sending @escaping () -> Void) {
            self.name = name
            self.run = run
        }
    }

    /// How many threads of each name have not come to their end. Exact: the kernel's names are inherited by whatever a thread starts, and a thread
    /// that has ended is listed until the C library is done with it.
    private static let running = Lock<[String: Int]>([:])

    package static var census: [String: Int] { running.withLock { $0.filter { $0.value > 0 } } }

    private static func count(_ name: String, by change: Int) { running.withLock { $0[name, default: 0] += change } }

    /// Makes a thread of that name, and returns false when the process can have none.
    typealias Make = @Sendable (_ name: String, _ body: @escaping @Sendable () -> Void) -> Bool

    static let make: Make = { spawn(name: $0, $1) }

    /// - Returns: false when the process can have no further thread.
    static func spawn(name: String, _ body: sending @escaping () -> Void) -> Bool {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        pthread_attr_setstacksize(&attributes, 512 << 10)
        var thread = pthread_t()
        // Safety: the box is handed to the new thread, which balances the retain; where there is no thread it is balanced here.
        let box = Unmanaged.passRetained(Body(name, body))
        // The signals are blocked before the thread exists: none is delivered to it, ever.
        var old = sigset_t()
        var blocked = sigset_t()
        sigfillset(&blocked)
        for fault in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS] { sigdelset(&blocked, fault) }
        pthread_sigmask(SIG_BLOCK, &blocked, &old)
        count(name, by: 1)
        let code = pthread_create(
            &thread, &attributes,
            { argument in
                guard let argument else { return nil }
                let body = Unmanaged<Body>.fromOpaque(argument).takeRetainedValue()
                pthread_setname_np(pthread_self(), body.name)
                body.run()
                SystemThread.count(body.name, by: -1)
                return nil
            }, box.toOpaque())
        pthread_sigmask(SIG_SETMASK, &old, nil)
        if code != 0 {
            box.release()
            count(name, by: -1)
        }
        return code == 0
    }
}
