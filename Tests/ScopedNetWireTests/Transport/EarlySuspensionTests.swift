import CleanSlate
import Foundation
import ScopedNetTestServer
import SystemSupport
import Testing

@testable import ScopedNet

/// Suspended before there is a connection that could be paused: libcurl refuses (it has nothing to pause), and the transfer waits all the same.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct EarlySuspensionTests {
    @Test func nothingIsReceived() async throws {
        let go = DispatchSemaphore(value: 0)
        try await withLoopbackServer { neighbour async throws in
            neighbour.on("/", .ok())
            try await withRawServer({ connection, _ in
                guard connection.readHead() != nil else { return }
                go.wait()
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
            }) { server, session in
                for round in 0..<20 {
                    let request = session.request("http://127.0.0.1:\(server.port)/")
                    let run = request.start()
                    #expect(run.suspend())
                    // Once another one is served, the network thread has heard of the suspension.
                    _ = try await session.send(neighbour.url + "/")
                    go.signal()
                    // It has seen the answer long before it has served three others.
                    for _ in 0..<3 { _ = try await session.send(neighbour.url + "/") }
                    #expect(request.result == nil, "round \(round): a suspended transfer went on")
                    run.resume()
                    await session.agent.waitUntilIdle()
                    #expect(try request.result?.get().body == Data("x".utf8))
                }
            }
        }
    }

    /// The server reads only once the transfer is suspended; what was under way before that fits into the buffers of two sockets.
    @Test func nothingIsSent() async throws {
        let size = 64 << 20
        let go = DispatchSemaphore(value: 0)
        let received = Lock(0)
        try await withLoopbackServer { neighbour async throws in
            neighbour.on("/", .ok())
            try await withRawServer({ connection, _ in
                go.wait()
                guard connection.readHead() != nil else { return }
                while received.withLock({ $0 }) < size {
                    guard let bytes = connection.read(65_536) else { return }
                    received.withLock { $0 += bytes.count }
                }
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
            }) { server, session in
                let request = session.request("http://127.0.0.1:\(server.port)/", method: .post, body: .data(bytes(size)))
                let run = request.start()
                #expect(run.suspend())
                _ = try await session.send(neighbour.url + "/")
                go.signal()
                for _ in 0..<50 { _ = try await session.send(neighbour.url + "/") }
                #expect(received.withLock { $0 } < size / 2, "a suspended transfer sent its body")
                run.resume()
                await session.agent.waitUntilIdle()
                #expect(try request.result?.get().body == Data("x".utf8))
                #expect(received.withLock { $0 } == size)
            }
        }
    }

    @Test func aSuspendedTransferIsCancelled() async throws {
        try await withRawServer({ connection, _ in connection.drain() }) { server, session in
            let run = session.request("http://127.0.0.1:\(server.port)/").start()
            #expect(run.suspend())
            #expect(await run.cancelAndWait() == .cancelled)
        }
    }
}
