import CNetlink
import Foundation
import Glibc

/// A keep-alive HTTP/1.1 server in a network namespace of its own, at the other end of a veth pair: what it is asked comes over a wire that
/// can be cut.
final class NeighbourServer: @unchecked Sendable {
    // Safety: `place` is written before `arrived` is signalled and read after it was waited for; the rest is constant or belongs to the thread.
    static let port: UInt16 = 8080

    private let arrived = DispatchSemaphore(value: 0)
    private let moved = DispatchSemaphore(value: 0)
    private let ready = DispatchSemaphore(value: 0)
    private let gone = DispatchSemaphore(value: 0)
    private var place = ""
    private var stopPipe: [Int32] = [0, 0]

    /// Takes the link to its namespace, gives it the address, and answers there.
    init(link: String, address: String, in network: TestNetwork) throws {
        guard pipe(&stopPipe) == 0 else { throw CommandFailure("pipe") }
        Thread { [self] in
            _ = cnl_unshare_network()
            let task = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")) ?? ""
            place = task.split(separator: "/").last.map(String.init) ?? ""
            arrived.signal()
            moved.wait()
            _ = try? TestNetwork(stack: .ipv4).batch(["link set lo up", "link set \(link) up", "addr add \(address)/24 dev \(link)"])
            serve()
            gone.signal()
        }.start()
        arrived.wait()
        try network.ip("link set \(link) netns \(place)")
        moved.signal()
        ready.wait()
    }

    func stop() {
        _ = write(stopPipe[1], "x", 1)
        gone.wait()
        stopPipe.forEach { close($0) }
    }

    private func serve() {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = Self.port.bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, size) }
        }
        listen(listener, 64)
        ready.signal()
        var clients: [Int32] = []
        var asking: [Int32] = []
        defer { (clients + [listener]).forEach { close($0) } }
        while true {
            var set = ([stopPipe[0], listener] + clients).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            poll(&set, nfds_t(set.count), -1)
            if set[0].revents != 0 { return }
            if set[1].revents != 0 {
                let client = accept(listener, nil, nil)
                if client >= 0 { clients.append(client) }
            }
            for entry in set.dropFirst(2) where entry.revents != 0 {
                guard let path = request(entry.fd) else {
                    close(entry.fd)
                    clients.removeAll { $0 == entry.fd }
                    continue
                }
                asking.append(entry.fd)
                // `/20` is answered when twenty ask.
                if asking.count >= Int(path.dropFirst()) ?? 1 {
                    asking.forEach(answer)
                    asking = []
                }
            }
        }
    }

    /// The path asked for; nil when the connection has ended. One request for each packet, as the client in these tests sends them.
    private func request(_ client: Int32) -> String? {
        var bytes = [UInt8](repeating: 0, count: 8 << 10)
        let count = recv(client, &bytes, bytes.count, 0)
        guard count > 0 else { return nil }
        return String(decoding: bytes[..<count], as: UTF8.self).split(separator: " ").dropFirst().first.map(String.init)
    }

    private func answer(_ client: Int32) {
        let response = Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello".utf8)
        _ = send(client, response, response.count, Int32(MSG_NOSIGNAL))
    }
}
