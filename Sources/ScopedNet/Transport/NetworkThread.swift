import CEpoll
import Glibc
import Synchronization
import SystemSupport

/// The one thread that touches curl handles, seen from outside: a mailbox and a way to wake it.
///
/// Commands are swapped out in one step for each turn, and the eventfd is written only when the thread may be asleep.
final class NetworkThread: Sendable {
    enum Command: Sendable {
        case start(TransferRequest, any TransferSink)
        case cancel(TransferID)
        case suspend(TransferID)
        case resume(TransferID)
        /// A reader or a body sequence caught up: let the paused direction go on.
        case unpause(TransferID)
        /// Its files are open, or cannot be.
        case prepared(TransferID, TransferPreparation.Outcome)
        /// The last bytes of its file are written, or will not be.
        case fileEnded(TransferID)
        /// The network is another one now.
        case renewPool
        case stop(@Sendable () -> Void)
    }

    private struct Mailbox {
        var commands: [Command] = []
        var isAwake = true
        var isStopped = false
    }

    private let mailbox = Lock(Mailbox())
    let wakeDescriptor: Int32
    private let identity = Atomic<UInt>(0)

    /// - Throws: `resources` when the process has no descriptor or thread left.
    init(settings: ConnectionSettings) throws(NetworkError) {
        wakeDescriptor = eventfd(0, SEVENTFD_FLAGS)
        guard wakeDescriptor >= 0 else { throw .resources("eventfd") }
        CurlGlobal.prepare()
        // Safety: the loop is handed to the new thread, and nothing else keeps it; here it is used again where there is no thread.
        nonisolated(unsafe) let loop = try CurlLoop(settings: settings, thread: self)
        do throws(SystemFailure) { try SystemThread.start(name: "scopednet") { loop.run() } } catch {
            loop.sockets.close()
            throw .resources("thread", error.code)
        }
    }

    deinit { Glibc.close(wakeDescriptor) }

    func markCurrent() {
        identity.store(UInt(pthread_self()), ordering: .relaxed)
    }

    private var isCurrent: Bool { identity.load(ordering: .relaxed) == UInt(pthread_self()) }

    /// Traps in debug builds where another thread calls. Costs nothing in release builds.
    @inline(__always)
    func preconditionIsCurrent(_ function: StaticString = #function) {
        assert(isCurrent, "\(function) was called off the network thread")
    }

    /// - Returns: false when the thread has stopped; the command was not taken.
    @discardableResult
    func post(_ command: Command) -> Bool {
        let (accepted, wake) = mailbox.withLock { mailbox -> (Bool, Bool) in
            guard !mailbox.isStopped else { return (false, false) }
            mailbox.commands.append(command)
            guard !mailbox.isAwake else { return (true, false) }
            mailbox.isAwake = true
            return (true, true)
        }
        if wake { self.wake() }
        return accepted
    }

    private func wake() {
        var one: UInt64 = 1
        while write(wakeDescriptor, &one, 8) < 0, errno == EINTR {}
    }

    // MARK: The thread's own side

    func takeCommands(into commands: inout [Command]) {
        preconditionIsCurrent()
        mailbox.withLock { swap(&commands, &$0.commands) }
    }

    /// True when nothing waits: from now on a post wakes the thread.
    func prepareToSleep() -> Bool {
        preconditionIsCurrent()
        return mailbox.withLock { mailbox in
            mailbox.isAwake = !mailbox.commands.isEmpty
            return !mailbox.isAwake
        }
    }

    func didWake() {
        preconditionIsCurrent()
        mailbox.withLock { $0.isAwake = true }
    }

    func clearWake() {
        preconditionIsCurrent()
        var count: UInt64 = 0
        while read(wakeDescriptor, &count, 8) < 0, errno == EINTR {}
    }

    /// Refuses further commands and gives back those not yet seen.
    func close() -> [Command] {
        preconditionIsCurrent()
        return mailbox.withLock { mailbox in
            mailbox.isStopped = true
            defer { mailbox.commands = [] }
            return mailbox.commands
        }
    }
}

extension NetworkError {
    static func resources(_ what: String, _ code: Int32 = errno) -> NetworkError {
        NetworkError(
            .resources, phase: .preparing, message: "cannot create a \(what): \(SystemFailure.text(of: code))",
            underlying: NetworkError.SystemError(code: code))
    }
}
