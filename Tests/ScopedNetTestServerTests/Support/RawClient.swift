import Dispatch
import Foundation
import Glibc

/// A socket and nothing else, for the requests no client would send. Blocking calls run on a thread of their own.
final class RawClient: Sendable {
    private let descriptor: Int32
    private let queue = DispatchQueue(label: "RawClient")

    init(port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw POSIXError(.ECONNREFUSED) }
    }

    func close() {
        _ = Glibc.close(descriptor)
    }

    func send(_ text: String) {
        send(Array(text.utf8))
    }

    func send(_ bytes: [UInt8]) {
        _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// Reads until the text is complete, or the connection ends.
    func read(until isComplete: @escaping @Sendable (String) -> Bool = { _ in false }) async -> String {
        String(decoding: await readBytes { isComplete(String(decoding: $0, as: UTF8.self)) }, as: UTF8.self)
    }

    func readBytes(until isComplete: @escaping @Sendable ([UInt8]) -> Bool) async -> [UInt8] {
        await withCheckedContinuation { continuation in
            queue.async { [descriptor] in
                var all: [UInt8] = []
                var piece = [UInt8](repeating: 0, count: 65_536)
                while !isComplete(all) {
                    let count = recv(descriptor, &piece, piece.count, 0)
                    guard count > 0 else { break }
                    all.append(contentsOf: piece[..<count])
                }
                continuation.resume(returning: all)
            }
        }
    }
}
