import CCurl
import Glibc
import Synchronization

/// libcurl's process-wide state, and a quiet process exit.
///
/// OpenSSL frees its tables in an exit handler; a network thread still inside a handshake would then crash the process (the stock
/// client does). Our handler is registered after OpenSSL's, so it runs before: it asks each loop to park and waits until they have,
/// for half a second at most. A child of fork(2) has none of these threads and waits for nobody.
enum CurlGlobal {
    private static let isExiting = Atomic<Bool>(false)
    private static let running = Atomic<Int>(0)
    private static let loops = LoopRegistry()

    /// The process whose threads are counted here.
    private static let owner: pid_t = {
        curl_global_init(SCURL_GLOBAL_ALL)
        atexit { CurlGlobal.park() }
        return getpid()
    }()

    static func prepare() { _ = owner }

    static var mustPark: Bool { isExiting.load(ordering: .acquiring) }

    static func loopStarted(wake: Int32) {
        running.add(1, ordering: .relaxed)
        loops.add(wake)
    }

    static func loopEnded(wake: Int32) {
        loops.remove(wake)
        running.subtract(1, ordering: .releasing)
    }

    /// The process is going away: this thread never touches curl again.
    static func parkForever() -> Never {
        running.subtract(1, ordering: .releasing)
        while true { pause() }
    }

    private static func park() {
        guard getpid() == owner else { return }
        isExiting.store(true, ordering: .sequentiallyConsistent)
        loops.wakeAll()
        for _ in 0..<500 where running.load(ordering: .acquiring) > 0 { usleep(1_000) }
    }
}
