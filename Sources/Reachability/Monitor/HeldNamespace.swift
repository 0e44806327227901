import CNetlink
import Glibc
import SystemSupport

/// A namespace held open for as long as a thread watches it: what becomes of the caller's descriptor or of the path does not matter then.
final class HeldNamespace: Sendable {
    /// Negative: whichever a thread is in, where nothing tells one namespace from another.
    private let descriptor: Int32

    private init(_ descriptor: Int32) { self.descriptor = descriptor }

    convenience init(_ namespace: NetworkNamespace) throws(SystemFailure) {
        switch namespace {
        case .current: self.init(try Self.openMine())
        case .path(let path): try self.init(opening: path)
        case .descriptor(let descriptor):
            let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
            guard copy >= 0 else { throw SystemFailure(Self.entering) }
            self.init(copy)
        }
    }

    private convenience init(opening path: String) throws(SystemFailure) {
        // A FIFO would otherwise wait for somebody to write to it.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw SystemFailure("open(\(path))") }
        self.init(descriptor)
    }

    /// That of this thread, for others to enter; -1 where there is no /proc to tell.
    private static func openMine() throws(SystemFailure) -> Int32 {
        let descriptor = open(mine, O_RDONLY | O_CLOEXEC)
        guard descriptor < 0 else { return descriptor }
        let failure = SystemFailure("open(\(mine))")
        if failure.meansShortage { throw failure }
        return -1
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// What a failure to get there is called.
    static let entering = "setns"
    private static let mine = "/proc/thread-self/ns/net"

    /// Entering takes a privilege, also to where one is already.
    private var isHere: Bool {
        guard descriptor >= 0 else { return true }
        var (here, there) = (stat(), stat())
        guard stat(Self.mine, &here) == 0, fstat(descriptor, &there) == 0 else { return false }
        return here.st_dev == there.st_dev && here.st_ino == there.st_ino
    }

    /// Moves the calling thread there.
    func enter() throws(SystemFailure) {
        guard !isHere else { return }
        guard cnl_setns_network(descriptor) == 0 else { throw SystemFailure(Self.entering) }
    }

    /// Runs the body on a thread inside the namespace: this one, or a short-lived one that goes there. Sockets belong to the namespace
    /// they were made in for good.
    func run<Value: Sendable>(_ body: @escaping @Sendable () throws(SystemFailure) -> Value) throws(SystemFailure) -> Value {
        if isHere { return try body() }
        let box = Box(Lock<Result<Value, SystemFailure>?>(nil))
        let handle = try SystemThread.start(name: Engine.threadName, isDetached: false) { [self] in
            let outcome: Result<Value, SystemFailure>
            do throws(SystemFailure) {
                try enter()
                outcome = .success(try body())
            } catch {
                outcome = .failure(error)
            }
            box.lock.withLock { $0 = outcome }
        }
        pthread_join(handle, nil)
        guard let outcome = box.lock.withLock({ $0 }) else { throw SystemFailure("thread", EAGAIN) }
        return try outcome.get()
    }

    private final class Box<Value>: Sendable {
        let lock: Lock<Value>
        init(_ lock: consuming Lock<Value>) { self.lock = lock }
    }
}
