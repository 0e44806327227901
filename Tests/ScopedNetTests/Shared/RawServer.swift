import Foundation
import Glibc
import SystemSupport

@testable import ScopedNet

/// A TCP server that sends what a test says, byte for byte: for peers that no server library would play.
///
/// Each connection has a thread of its own, on which `serve` reads and writes as it likes; when it returns, the connection ends.
final class RawServer: Sendable {
    private struct State {
        var connections: [RawConnection] = []
        var accepted = 0
        var isStopped = false
    }

    let port: Int
    private let listener: Int32
    private let state = Lock(State())
    private let threads = DispatchGroup()

    /// How many connections came.
    var accepted: Int { state.withLock { $0.accepted } }

    /// Starts the server; `serve` gets the connection and its number, from 0.
    init(_ serve: @escaping @Sendable (RawConnection, Int) -> Void) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(listener, pointer, length) == 0 && listen(listener, 512) == 0 && getsockname(listener, pointer, &length) == 0
            }
        }
        guard bound else { throw NetworkError.SystemError(code: errno) }
        self.listener = listener
        port = Int(in_port_t(bigEndian: address.sin_port))
        threads.enter()
        Thread.detachNewThread { [self] in
            accept(serve)
            threads.leave()
        }
    }

    private func accept(_ serve: @escaping @Sendable (RawConnection, Int) -> Void) {
        while true {
            let descriptor = Glibc.accept(listener, nil, nil)
            if descriptor < 0 {
                if errno == EINTR || errno == ECONNABORTED { continue }
                return
            }
            let connection = RawConnection(descriptor)
            let number = state.withLock { state -> Int? in
                guard !state.isStopped else { return nil }
                state.connections.append(connection)
                defer { state.accepted += 1 }
                return state.accepted
            }
            guard let number else { return connection.close() }
            threads.enter()
            Thread.detachNewThread { [self] in
                serve(connection, number)
                connection.finish()
                state.withLock { $0.connections.removeAll { $0 === connection } }
                connection.close()
                threads.leave()
            }
        }
    }

    /// Ends all connections and returns when their threads have.
    func stop() {
        let connections = state.withLock { state in
            state.isStopped = true
            return state.connections
        }
        // On Linux this wakes accept(2).
        shutdown(listener, Int32(SHUT_RDWR))
        for connection in connections { connection.interrupt() }
        threads.wait()
        close(listener)
    }
}

/// One connection of a `RawServer`. Reading blocks; each method is for the thread that serves it, but `interrupt`.
final class RawConnection: Sendable {
    private let descriptor: Int32
    private let isOpen = Lock(true)

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Exactly that many bytes, or nil when the peer ended before.
    func read(_ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var got = 0
        while got < count {
            let now = bytes.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress! + got, count - got, 0) }
            if now < 0, errno == EINTR { continue }
            guard now > 0 else { return nil }
            got += now
        }
        return bytes
    }

    /// The head of a request, with its empty line.
    func readHead() -> String? {
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            guard let byte = read(1) else { return nil }
            head += byte
        }
        return String(decoding: head, as: UTF8.self)
    }

    /// - Returns: false when the peer is gone.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let now = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL)) }
            if now < 0, errno == EINTR { continue }
            guard now > 0 else { return false }
            sent += now
        }
        return true
    }

    @discardableResult
    func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// Sends no more, and reads on.
    func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Ends with a reset in place of a polite end.
    func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        // Disconnecting (connect(2), AF_UNSPEC) resets at once and leaves the number ours.
        var nobody = sockaddr_storage()
        withUnsafeMutablePointer(to: &nobody) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr>.size))
            }
        }
    }

    /// Reads and forgets until the peer ends, or the server is stopped.
    func drain() {
        var room = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let got = recv(descriptor, &room, room.count, 0)
            if got < 0, errno == EINTR { continue }
            guard got > 0 else { return }
        }
    }

    /// Says that nothing follows, and lets the peer end: unread bytes would turn the end into a reset.
    fileprivate func finish() {
        shutdown(descriptor, Int32(SHUT_WR))
        drain()
    }

    /// Any thread: what blocks here returns. Once closed, the number may be somebody else's.
    fileprivate func interrupt() { isOpen.withLock { if $0 { _ = shutdown(descriptor, Int32(SHUT_RDWR)) } } }

    fileprivate func close() {
        isOpen.withLock { isOpen in
            isOpen = false
            _ = Glibc.close(descriptor)
        }
    }
}

/// Runs a test against a raw server and a session, beside a scripted server whose requests must not suffer.
func withRawServer(
    _ serve: @escaping @Sendable (RawConnection, Int) -> Void, configure: (inout Session.Configuration) throws -> Void = { _ in },
    _ test: (RawServer, Session) async throws -> Void
) async throws {
    let server = try RawServer(serve)
    defer { server.stop() }
    try await withSession(configure) { try await test(server, $0) }
}
