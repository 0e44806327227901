import Glibc
import ScopedNet
import SystemSupport

/// Ends a command on SIGINT, SIGTERM and SIGHUP: the first cancels its task, so that it can tidy up; the second ends the process at once.
final class Interruption: Sendable {
    private struct State {
        var signal: Int32?
        var task: Task<Void, any Error>?
    }

    /// The process has one, as it has one set of signals.
    static let process = Interruption()

    private let state = Lock(State())
    /// The end to read of a pipe that has something to read from the first signal on; -1 where no pipe was to be had.
    private let descriptor: Int32
    private let waker: Int32

    private init() {
        var ends: [Int32] = [-1, -1]
        if pipe(&ends) != 0 { ends = [-1, -1] }
        (descriptor, waker) = (ends[0], ends[1])
    }

    /// From now on these signals are for ``await()``; call it on the main thread, before there are others. A signal that was ignored before
    /// stays so (nohup(1)).
    func begin() {
        // Blocked here, and so in every thread to come: one that arrives before somebody waits for it is kept.
        var signals = Self.signals
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// Waits for the signals, for ever. Not a dispatch source and not `dispatchMain()`: the one is told only of what comes after it has been
    /// registered, some time later, and the other unblocks all signals of the thread it is called on.
    func await() -> Never {
        var signals = Self.signals
        while true {
            var number: Int32 = 0
            if sigwait(&signals, &number) == 0 { arrived(number) }
        }
    }

    private static let signals: sigset_t = {
        var signals = sigset_t()
        sigemptyset(&signals)
        for number in [SIGINT, SIGTERM, SIGHUP] where !isIgnored(number) { sigaddset(&signals, number) }
        return signals
    }()

    private static func isIgnored(_ number: Int32) -> Bool {
        var before = sigaction()
        sigaction(number, nil, &before)
        return unsafeBitCast(before.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// The task to cancel; at once, if a signal was there before it.
    func end(_ task: Task<Void, any Error>) {
        let isLate = state.withLock { state in
            state.task = task
            return state.signal != nil
        }
        if isLate { task.cancel() }
    }

    /// The signal that came first.
    var signal: Int32? { state.withLock { $0.signal } }

    /// Waits until a descriptor can be read (`POLLIN`) or written (`POLLOUT`). A read(2) or write(2) that blocks would not notice the signal:
    /// it arrives on another thread.
    ///
    /// - Returns: false when a signal came first.
    func wait(for events: Int32, on target: Int32) -> Bool {
        var ends = [
            pollfd(fd: target, events: Int16(events), revents: 0), pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        ]
        while poll(&ends, 2, -1) < 0 {
            // Whatever else is wrong shows when the descriptor is used.
            if errno != EINTR { return true }
        }
        return ends[0].revents != 0
    }

    private func arrived(_ number: Int32) {
        let (isFirst, task) = state.withLock { state in
            defer { state.signal = state.signal ?? number }
            return (state.signal == nil, state.task)
        }
        guard isFirst else { _exit(ExitStatus.signal(number).code) }
        task?.cancel()
        if waker >= 0 { _ = write(waker, [1], 1) }
    }
}
