import Glibc
import SystemSupport

@testable import ScopedNet

/// A keep-alive HTTP/1.1 server on one thread and poll(2), small enough for sanitizer builds. `/hang` is never answered.
final class PlainServer: Sendable {
    let port: UInt16
    private let listener: Int32
    private let wake: (read: Int32, write: Int32)
    private let thread: Lock<pthread_t?>

    init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, size) }
        }
        guard bound == 0, listen(listener, 512) == 0 else { throw NetworkError.SystemError(code: errno) }
        var length = size
        _ = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &length) }
        }
        self.listener = listener
        port = UInt16(bigEndian: address.sin_port)
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw NetworkError.SystemError(code: errno) }
        wake = (ends[0], ends[1])
        thread = Lock(nil)
        var id = pthread_t()
        pthread_create(
            &id, nil,
            { argument in
                Unmanaged<PlainServer>.fromOpaque(argument!).takeRetainedValue().run()
                return nil
            }, Unmanaged.passRetained(self).toOpaque())
        let started = id
        thread.withLock { $0 = started }
    }

    func stop() {
        _ = write(wake.write, "x", 1)
        if let id = thread.withLock({ $0 }) { pthread_join(id, nil) }
    }

    private func run() {
        var buffers: [Int32: [UInt8]] = [:]
        var chunk = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            var set = [pollfd(fd: wake.read, events: Int16(POLLIN), revents: 0), pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
            set += buffers.keys.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            poll(&set, nfds_t(set.count), -1)
            if set[0].revents != 0 { break }
            if set[1].revents != 0 {
                let client = accept(listener, nil, nil)
                if client >= 0 { buffers[client] = [] }
            }
            for entry in set.dropFirst(2) where entry.revents != 0 {
                let count = recv(entry.fd, &chunk, chunk.count, 0)
                guard count > 0 else {
                    close(entry.fd)
                    buffers[entry.fd] = nil
                    continue
                }
                buffers[entry.fd]?.append(contentsOf: chunk[..<count])
                answer(entry.fd, &buffers[entry.fd]!)
            }
        }
        for client in buffers.keys { close(client) }
        close(listener)
        close(wake.read)
        close(wake.write)
    }

    private static let response = Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello".utf8)

    private func answer(_ client: Int32, _ buffer: inout [UInt8]) {
        while let end = headEnd(buffer) {
            let isHanging = buffer[..<end].starts(with: Array("GET /hang".utf8))
            buffer.removeFirst(end)
            if !isHanging { _ = send(client, Self.response, Self.response.count, Int32(MSG_NOSIGNAL)) }
        }
    }

    private func headEnd(_ buffer: [UInt8]) -> Int? {
        guard buffer.count >= 4 else { return nil }
        for index in 3..<buffer.count
        where buffer[index] == 10 && buffer[index - 1] == 13 && buffer[index - 2] == 10 && buffer[index - 3] == 13 {
            return index + 1
        }
        return nil
    }
}
