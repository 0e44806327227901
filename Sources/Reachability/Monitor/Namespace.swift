import CNetlink
import Glibc

/// The network namespace to watch.
public enum NetworkNamespace: Sendable, Hashable {
    /// That of the thread that calls `start()`.
    case current
    /// A file such as `/run/netns/blue` or `/proc/PID/ns/net`.
    case path(String)
    /// An open descriptor of such a file. It has to stay open until `start()` returns.
    case descriptor(Int32)

    /// Runs the body on a thread inside the namespace: this one, or a short-lived one that goes there. Sockets belong to the namespace
    /// they were made in for good.
    func run<Value: Sendable>(_ body: @escaping @Sendable () throws(SystemFailure) -> Value) throws(SystemFailure) -> Value {
        if self == .current { return try body() }
        let result = Lock<Result<Value, SystemFailure>?>(nil)
        let box = Box(result)
        let handle = try SystemThread.spawn {
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

    /// Moves the calling thread there.
    func enter() throws(SystemFailure) {
        switch self {
        case .current: return
        case .descriptor(let descriptor):
            guard cnl_setns_network(descriptor) == 0 else { throw SystemFailure("setns") }
        case .path(let path):
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw SystemFailure("open(\(path))") }
            defer { close(descriptor) }
            guard cnl_setns_network(descriptor) == 0 else { throw SystemFailure("setns") }
        }
    }
}
