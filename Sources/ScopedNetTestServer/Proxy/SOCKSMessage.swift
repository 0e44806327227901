#if TestServer
internal import NIOCore

/// What a SOCKS5 client says (RFC 1928, RFC 1929), read from bytes (pure).
enum SOCKSMessage: Sendable, Hashable {
    enum Kind { case greeting, password, request }

    case greeting(methods: [UInt8])
    case password(user: String, password: String)
    case request(command: UInt8, host: String, port: Int)
    case malformed

    /// Nil when the message has not come whole; the reader has to go back then.
    init?(_ bytes: inout ByteBuffer, _ kind: Kind) {
        guard let version: UInt8 = bytes.readInteger() else { return nil }
        guard version == (kind == .password ? 1 : 5) else {
            self = .malformed
            return
        }
        switch kind {
        case .greeting:
            guard let methods = bytes.readCounted() else { return nil }
            self = .greeting(methods: methods)
        case .password:
            guard let user = bytes.readCounted(), let password = bytes.readCounted() else { return nil }
            self = .password(user: String(decoding: user, as: UTF8.self), password: String(decoding: password, as: UTF8.self))
        case .request:
            guard let head = bytes.readBytes(length: 3) else { return nil }
            guard let host = Self.host(&bytes, type: head[2]) else { return nil }
            guard let host else {
                self = .malformed
                return
            }
            guard let port: UInt16 = bytes.readInteger() else { return nil }
            self = .request(command: head[0], host: host, port: Int(port))
        }
    }

    /// Nil when it has not come whole, `.some(nil)` when there is no such type of address.
    private static func host(_ bytes: inout ByteBuffer, type: UInt8) -> String?? {
        switch type {
        case 1: bytes.readBytes(length: 4).map { $0.map(String.init).joined(separator: ".") }
        case 3: bytes.readCounted().map { String(decoding: $0, as: UTF8.self) }
        case 4:
            bytes.readBytes(length: 16).map { address in
                stride(from: 0, to: 16, by: 2).map { String(Int(address[$0]) << 8 | Int(address[$0 + 1]), radix: 16) }.joined(
                    separator: ":")
            }
        default: .some(nil)
        }
    }
}

extension ByteBuffer {
    /// A byte that counts, and as many bytes.
    fileprivate mutating func readCounted() -> [UInt8]? {
        guard let count: UInt8 = readInteger() else { return nil }
        return readBytes(length: Int(count))
    }
}
#endif
