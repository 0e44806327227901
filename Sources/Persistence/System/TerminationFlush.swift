import CStore
import Glibc
import Synchronization
import SystemSupport

/// Writes what stores still hold when the process is asked to end (SIGTERM, SIGINT), and then lets the signal do what it would have done.
///
/// For programs that handle these signals in no other way. Made once, when the program begins; a program that handles them itself calls
/// `close()` on its stores instead. When it is dropped, the former handling is back.
///
/// The first signal is held while the stores write, for `limit` at most; then the former handling is restored, and the signal is sent to the
/// process again. A second signal meanwhile ends the process at once if that is what it does.
public final class TerminationFlush: Sendable {
    private let run: Run

    /// SIGTERM and SIGINT.
    public static var defaultSignals: [Int32] { [SIGTERM, SIGINT] }

    /// - Parameters:
    ///   - stores: held until the signal or the end of this object.
    ///   - signals: those to wait for.
    ///   - limit: how long the stores may take; an hour at most.
    /// - Throws: `unavailable` when there is one already: a signal has one handling in a process.
    public init(_ stores: [Store], signals: [Int32] = TerminationFlush.defaultSignals, limit: Duration = .seconds(2)) throws(StoreError) {
        guard !Self.installation.exchange(true, ordering: .acquiringAndReleasing) else {
            throw StoreError(.unavailable, "there is a TerminationFlush already")
        }
        // Made once and never closed: a handler that is just running on some thread writes to it still.
        var bell = Self.bell.load(ordering: .acquiring)
        if bell < 0 { bell = cstore_eventfd() }
        guard bell >= 0 else {
            Self.installation.store(false, ordering: .releasing)
            throw StoreError(call: "eventfd", path: "", errno: errno)
        }
        Self.bell.store(bell, ordering: .releasing)
        Self.isHeard.store(true, ordering: .sequentiallyConsistent)
        let run = Run(stores: stores.map(\.engine), limit: max(.zero, min(limit, .seconds(3600))), bell: bell)
        self.run = run
        guard SystemThread.make("store-signals", { run.wait() }) else {
            Self.isHeard.store(false, ordering: .sequentiallyConsistent)
            Self.installation.store(false, ordering: .releasing)
            throw StoreError(.system, "the process can have no further thread")
        }
        run.install(signals)
    }

    deinit { run.stop() }

    /// One is at work, or its thread still on its way out.
    static var isInstalled: Bool { installation.load(ordering: .acquiring) }

    /// A signal is noted, and nobody has taken it out yet.
    static var isPending: Bool { pending.load(ordering: .acquiring) != 0 }

    private static let installation = Atomic(false)
    /// What the handler may touch: read there without a lock, and made before any handler is.
    private static let bell = Atomic<Int32>(-1)
    private static let pending = Atomic<Int32>(0)
    /// Somebody will look at `pending` again.
    private static let isHeard = Atomic(false)
    /// The address of the handler, as sigaction(2) tells it.
    private static let handler = Atomic<Int>(0)

    /// The handler. Async-signal-safe (signal-safety(7)): atomics, a write, sigaction and a kill. errno is as it was, afterwards.
    private static func note(_ signal: Int32) {
        let saved = errno
        pending.store(signal, ordering: .sequentiallyConsistent)
        var one: UInt64 = 1
        write(bell.load(ordering: .acquiring), &one, 8)
        // The kernel chose this handler, and before its first line the former one was put back and the last look taken. One of both takes the
        // signal out and sends it on: it is blocked here, and comes to the former handling when this returns.
        if !isHeard.load(ordering: .sequentiallyConsistent) {
            let signal = pending.exchange(0, ordering: .sequentiallyConsistent)
            if signal != 0 { sendOn(signal) }
        }
        errno = saved
    }

    private static func sendOn(_ signal: Int32) {
        var present = sigaction()
        // Somebody who had saved this handler has put it back: it would meet itself for ever. All zero is the default handling.
        if sigaction(signal, nil, &present) == 0, address(of: present) == handler.load(ordering: .acquiring) {
            var usual = sigaction()
            sigaction(signal, &usual, nil)
        }
        kill(getpid(), signal)
    }

    private static func address(of action: sigaction) -> Int { unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) }

    private final class Run: Sendable {
        private let stores: [any OpenStore]
        private let limit: Duration
        private let bell: Int32
        /// Nil once they are restored.
        private let former = Lock<[Int32: sigaction]?>([:])
        private let isStopped = Atomic(false)

        init(stores: [any OpenStore], limit: Duration, bell: Int32) {
            self.stores = stores
            self.limit = limit
            self.bell = bell
        }

        func install(_ signals: [Int32]) {
            // A signal that comes at once is sent on only when all of them can be restored.
            former.withLock { former in for signal in signals { former?[signal] = Self.replace(signal) } }
        }

        /// - Returns: the former handling; nil where it stays.
        private static func replace(_ signal: Int32) -> sigaction? {
            var present = sigaction()
            // What is ignored (nohup(1), a shell's background job) ends nothing, and stays so.
            if sigaction(signal, nil, &present) == 0, present.sa_flags & SA_SIGINFO == 0, address(of: present) == 1 { return nil }
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { TerminationFlush.note($0) }
            action.sa_flags = Int32(SA_RESTART)
            handler.store(address(of: action), ordering: .releasing)
            var old = sigaction()
            return sigaction(signal, &action, &old) == 0 ? old : nil
        }

        /// On a thread of its own, until the first signal or the end.
        func wait() {
            var signal: Int32 = 0
            while signal == 0, !isStopped.load(ordering: .acquiring) {
                var poll = pollfd(fd: bell, events: Int16(POLLIN), revents: 0)
                while Glibc.poll(&poll, 1, -1) < 0 && errno == EINTR {}
                // A late ring is for nobody any more: whoever rings for this one has stored what for before.
                var count: UInt64 = 0
                read(bell, &count, 8)
                signal = TerminationFlush.pending.exchange(0, ordering: .sequentiallyConsistent)
            }
            restore()
            TerminationFlush.isHeard.store(false, ordering: .sequentiallyConsistent)
            // Neither what is noted while this one is dropped, nor what came behind the first, is left for the next one to hear.
            let late = TerminationFlush.pending.exchange(0, ordering: .sequentiallyConsistent)
            if signal != 0 || late != 0 { flush() }
            if signal != 0 { kill(getpid(), signal) }
            if late != 0, late != signal { kill(getpid(), late) }
            TerminationFlush.installation.store(false, ordering: .releasing)
        }

        func stop() {
            restore()
            isStopped.store(true, ordering: .releasing)
            var one: UInt64 = 1
            write(bell, &one, 8)
        }

        /// Once; whoever comes second returns when it is done.
        private func restore() {
            former.withLock { former in
                for (signal, var action) in former ?? [:] { sigaction(signal, &action, nil) }
                former = nil
            }
        }

        private func flush() {
            let latch = CountdownLatch(count: stores.count)
            for store in stores { store.flushNow { latch.countDown() } }
            latch.wait(for: limit)
        }
    }
}
