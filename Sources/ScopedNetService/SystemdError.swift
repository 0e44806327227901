/// Why systemd could not be told something.
public struct SystemdError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of errors.
    public enum Code: Sendable, Hashable {
        /// `NOTIFY_SOCKET` holds no address that can be used.
        case invalidSocket
        /// The socket is not there, or the manager does not read from it.
        case unreachable
    }

    /// The kind of error.
    public let code: Code
    /// The reason, such as that of the system call.
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// One line with the reason.
    public var description: String { "systemd cannot be notified: \(message)" }
}
