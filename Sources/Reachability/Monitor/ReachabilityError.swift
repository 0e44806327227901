import Glibc
import SystemSupport

/// Why a monitor cannot start, or a wait ended.
public struct ReachabilityError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of errors.
    public enum Code: Sendable, Hashable {
        /// The process, or the kernel, has no descriptor, thread or memory left.
        case resources
        /// The namespace does not exist or may not be entered.
        case namespaceUnavailable
        /// A wait with a limit saw no satisfied path.
        case timedOut
        /// The task that waited was cancelled.
        case cancelled
    }

    /// The kind of error.
    public let code: Code
    /// One sentence with the system's reason.
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The same as ``message``.
    public var description: String { message }
}

extension ReachabilityError {
    init(_ failure: SystemFailure) {
        let isNamespace = failure.call == HeldNamespace.entering || failure.call.hasPrefix("open(")
        self.init(
            isNamespace && !failure.meansShortage ? .namespaceUnavailable : .resources,
            failure.description)
    }
}
