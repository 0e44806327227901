import Foundation
import Glibc

/// A listening socket that answers nobody: connections end in its backlog, which is full from the start.
final class SocketTrap: Sendable {
    private let descriptor: Int32
    private let fillers: [Int32]
    let port: Int

    /// Makes the trap. With `isFull` even the handshake of TCP gets no answer; otherwise connections are made and never served.
    init(isFull: Bool) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, length) == 0 && listen(descriptor, isFull ? 0 : 64) == 0
                    && getsockname(descriptor, pointer, &length) == 0
            }
        }
        guard bound else { throw POSIXError(.EADDRNOTAVAIL) }
        port = Int(in_port_t(bigEndian: address.sin_port))
        var fillers: [Int32] = []
        // A backlog of zero holds one connection; the ones behind it stay half open.
        for _ in 0..<(isFull ? 4 : 0) {
            let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = connect(filler, $0, length) }
            }
            fillers.append(filler)
        }
        self.descriptor = descriptor
        self.fillers = fillers
    }

    deinit {
        for filler in fillers { close(filler) }
        close(descriptor)
    }
}
