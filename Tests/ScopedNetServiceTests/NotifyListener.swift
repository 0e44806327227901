import Glibc
import TestProcesses

/// The other end of `NOTIFY_SOCKET`: a real datagram socket, as systemd has one.
final class NotifyListener: Sendable {
    private let descriptor: Int32
    /// For `NOTIFY_SOCKET`.
    let name: String

    init(_ name: String) throws {
        self.name = name
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(name.utf8)
        if bytes.first == UInt8(ascii: "@") { bytes[0] = 0 } else { bytes.append(0) }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let code = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        guard code == 0 else { throw CommandFailure(description: "bind(\(name)): \(String(cString: strerror(errno)))") }
    }

    deinit { close(descriptor) }

    /// The next datagram; nil when none comes within a minute.
    func next() async -> String? {
        await ProgramRun.onThread { [descriptor] in
            var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&wait, 1, 60_000) == 1 else { return nil }
            var buffer = [UInt8](repeating: 0, count: 8_192)
            let count = recv(descriptor, &buffer, buffer.count, 0)
            return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
        }
    }

    /// The next datagram that is not a status.
    func nextState() async -> String? {
        while let text = await next() { if !text.hasPrefix("STATUS=") { return text } }
        return nil
    }
}
