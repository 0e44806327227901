/// Why systemd could not be told something.
public struct SystemdError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Code: Sendable, Hashable {
        /// `NOTIFY_SOCKET` holds no address that can be used.
        case invalidSocket
        /// The socket is not there, or the manager does not read from it.
        case unreachable
    }

    public let code: Code
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { "systemd cannot be notified: \(message)" }
}
