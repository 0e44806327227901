import Glibc

/// Tells systemd how a daemon is doing: datagrams to the socket it names in `NOTIFY_SOCKET` (sd_notify(3)). No libsystemd is needed, and
/// no descriptor is kept between two notifications.
public struct SystemdNotifier: Sendable, Hashable {
    /// How long a notification waits for room in the manager's queue.
    private static let patience = timeval(tv_sec: 1, tv_usec: 0)

    private let socketName: NotifySocket

    /// - Parameter socket: an absolute path, or `@name` for an abstract socket.
    /// - Throws: `invalidSocket` for anything else.
    public init(socket: String) throws(SystemdError) { socketName = try NotifySocket(socket) }

    /// The notifier of the unit this process is: nil outside systemd, and in units that do not listen (`NotifyAccess=none`).
    ///
    /// - Throws: `invalidSocket` when `NOTIFY_SOCKET` is set to something that is no address.
    public static func fromEnvironment() throws(SystemdError) -> SystemdNotifier? {
        guard let value = getenv("NOTIFY_SOCKET"), value.pointee != 0 else { return nil }
        return try SystemdNotifier(socket: String(cString: value))
    }

    /// Sends all messages in one datagram. Any thread; waits a second at most, which happens only when the manager does not read.
    ///
    /// - Throws: `unreachable` when nobody received it.
    public func notify(_ messages: SystemdMessage...) throws(SystemdError) { try notify(messages) }

    /// Sends all messages in one datagram.
    public func notify(_ messages: [SystemdMessage]) throws(SystemdError) {
        guard !messages.isEmpty else { return }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw .unreachable("socket") }
        defer { close(descriptor) }
        var patience = Self.patience
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        let datagram = Array(messages.map(\.description).joined(separator: "\n").utf8)
        let sent = socketName.withAddress { address, length in
            var sent = -1
            repeat {
                sent = sendto(descriptor, datagram, datagram.count, Int32(MSG_NOSIGNAL), address, length)
            } while sent < 0 && errno == EINTR
            return sent
        }
        guard sent == datagram.count else { throw .unreachable("sendto") }
    }
}

extension SystemdError {
    fileprivate static func unreachable(_ call: String) -> SystemdError {
        SystemdError(.unreachable, "\(call): \(String(cString: strerror(errno)))")
    }
}
