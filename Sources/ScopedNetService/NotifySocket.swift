import Glibc

/// The address in `NOTIFY_SOCKET` (pure; sd_notify(3), unix(7)): a path, or a name in the abstract namespace behind an `@`.
struct NotifySocket: Sendable, Hashable {
    /// What `sun_path` holds.
    let bytes: [UInt8]

    /// The size of `sun_path`.
    static let capacity = 108

    /// - Throws: `invalidSocket` for what is no such address.
    init(_ text: String) throws(SystemdError) {
        var bytes = Array(text.utf8)
        guard let first = bytes.first, !bytes.contains(0) else { throw SystemdError(.invalidSocket, "an empty name, or one with a NUL") }
        if text.hasPrefix("vsock:") { throw SystemdError(.invalidSocket, "'\(text)': sockets of virtual machines are not supported") }
        switch first {
        case UInt8(ascii: "/"): bytes.append(0)
        case UInt8(ascii: "@") where bytes.count > 1: bytes[0] = 0
        default: throw SystemdError(.invalidSocket, "'\(text)' is neither an absolute path nor an abstract name (@name)")
        }
        guard bytes.count <= Self.capacity else {
            throw SystemdError(.invalidSocket, "'\(text)' is longer than a socket's name may be (\(Self.capacity - 1) bytes)")
        }
        self.bytes = bytes
    }

    /// Calls `body` with the address as the kernel takes it. An abstract name ends with its last byte, not with a NUL.
    func withAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let offset = MemoryLayout<sockaddr_un>.offset(of: \sockaddr_un.sun_path) ?? MemoryLayout<sa_family_t>.size
        let length = socklen_t(offset + bytes.count)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }
}
