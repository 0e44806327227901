import CStore
import Glibc

/// The lock every user of a store holds on a file beside it: shared in shared mode, exclusive in private mode, and exclusive for a moment
/// to replace the database.
///
/// A flock(2): it goes with the process, however that ends. Not inherited by programs that are started.
final class LockFile: Sendable {
    private let descriptor: Int32

    /// - Throws: `unavailable` when somebody else holds it in a way that excludes this, or the file is somebody else's; `system` when there can be no such file.
    init(_ path: String, isExclusive: Bool) throws(StoreError) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0o600)
        guard descriptor >= 0 else { throw StoreError(call: "open", path: path, errno: errno) }
        do throws(StoreError) { try TrustedFolder.check(descriptor, path) } catch {
            close(descriptor)
            throw error
        }
        guard Self.lock(descriptor, isExclusive: isExclusive) else {
            let code = errno
            close(descriptor)
            if code == EWOULDBLOCK { throw StoreError(.unavailable, "another process uses the store") }
            throw StoreError(call: "flock", path: path, errno: code)
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// The next one may have the store now, and not only when the last reference here is gone.
    func release() { _ = cstore_lock(descriptor, CSTORE_UNLOCK) }

    /// Nobody else has the store from now on.
    /// - Returns: false when somebody does. A shared lock may then be lost as well (flock(2): a conversion is not atomic), so the caller gives
    ///   the store up.
    func makeExclusive() -> Bool { Self.lock(descriptor, isExclusive: true) }

    /// - Returns: false when somebody took it exclusively between two steps.
    func makeShared() -> Bool { Self.lock(descriptor, isExclusive: false) }

    private static func lock(_ descriptor: Int32, isExclusive: Bool) -> Bool {
        let operation = (isExclusive ? CSTORE_LOCK_EXCLUSIVE : CSTORE_LOCK_SHARED) | CSTORE_LOCK_NONBLOCKING
        while cstore_lock(descriptor, operation) != 0 {
            if errno != EINTR { return false }
        }
        return true
    }
}
