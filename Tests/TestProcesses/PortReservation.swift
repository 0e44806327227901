import Foundation
import Glibc

/// A loopback port of both families: one is left for a server, in the other a socket is bound that does not listen. So connections there are
/// refused, and no server of another test gets the number by chance.
public final class PortReservation: Sendable {
    /// The port that is reserved.
    public let port: Int
    private let other: Int32

    /// Reserves a port; `isIPv6` is the family of the server that is to come.
    public init(forIPv6 isIPv6: Bool) throws {
        for _ in 0..<100 {
            guard let (other, port) = Self.bound(isIPv6: !isIPv6, port: 0) else { break }
            if let (own, _) = Self.bound(isIPv6: isIPv6, port: port) {
                close(own)
                (self.other, self.port) = (other, port)
                return
            }
            close(other)
        }
        throw POSIXError(.EADDRINUSE)
    }

    deinit { close(other) }

    private static func bound(isIPv6: Bool, port: Int) -> (descriptor: Int32, port: Int)? {
        let descriptor = socket(isIPv6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        let number: in_port_t?
        if isIPv6 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = in_port_t(port).bigEndian
            inet_pton(AF_INET6, "::1", &address.sin6_addr)
            number = bind(descriptor, &address) ? address.sin6_port : nil
        } else {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(port).bigEndian
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            number = bind(descriptor, &address) ? address.sin_port : nil
        }
        guard let number else {
            close(descriptor)
            return nil
        }
        return (descriptor, Int(in_port_t(bigEndian: number)))
    }

    /// Binds, and reads the address back.
    private static func bind<Address>(_ descriptor: Int32, _ address: inout Address) -> Bool {
        var length = socklen_t(MemoryLayout<Address>.size)
        return withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                Glibc.bind(descriptor, pointer, length) == 0 && getsockname(descriptor, pointer, &length) == 0
            }
        }
    }
}
