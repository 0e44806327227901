import Glibc
import SystemSupport

/// The descriptors that wake the network threads of this process.
///
/// They are written under the lock: once a thread has been removed its descriptor may be closed, and the number be another file's.
final class LoopRegistry: Sendable {
    private let descriptors = Lock<[Int32]>([])

    /// - Parameter descriptor: an eventfd that does not block.
    func add(_ descriptor: Int32) { descriptors.withLock { $0.append(descriptor) } }

    /// Returns when nothing writes to the descriptor any more.
    func remove(_ descriptor: Int32) { descriptors.withLock { descriptors in descriptors.removeAll { $0 == descriptor } } }

    func wakeAll() {
        descriptors.withLock { descriptors in
            var one: UInt64 = 1
            for descriptor in descriptors { _ = write(descriptor, &one, 8) }
        }
    }
}
