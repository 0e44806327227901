import Glibc
import SystemSupport

/// Why a store did not do what it was asked for.
///
/// Only calls whose result matters by itself throw: records, bodies, and waiting for the disk. An entry that cannot be kept is never an
/// error, only a miss later.
public struct StoreError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of errors.
    public enum Code: Sendable, Hashable {
        /// There is no database to be used: the folder cannot be written, or somebody else uses the store by itself.
        case unavailable
        /// The disk, or the quota, is full.
        case diskFull
        /// What was read is not what had been written. None of it was given out.
        case damaged
        /// The body is gone: it was evicted or removed before it was opened.
        case missing
        /// More bytes than one entry may have.
        case tooLarge
        /// The store, or the writer, was closed.
        case closed
        /// The system refused a call.
        case system
    }

    /// The kind of error.
    public let code: Code
    /// One sentence, without any content of the store.
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// A call that failed with errno.
    init(call: String, path: String, errno code: Int32) {
        let isFull = code == ENOSPC || code == EDQUOT || code == EFBIG
        self.init(isFull ? .diskFull : code == ENOENT ? .missing : .system, "\(call) \(path): \(SystemFailure.text(of: code))")
    }

    /// The same as ``message``.
    public var description: String { message }
}
