import CleanSlate
import Foundation
import ScopedNetTestServer
import ScopedNetTesting
import SystemSupport
import Testing

@_spi(Transport) @testable import ScopedNet

/// Bodies whose memory is looked at while they are collected: views of it, and no copies.
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct CollectedBodyTests {
    /// The bodies that a request has had, one for each response.
    private final class Held: Sendable {
        let bodies = Gathered<CollectedBody>()
        let statuses = Gathered<Int>()
        func hold(_ head: ResponseHead, _ body: CollectedBody) {
            statuses.add(head.status)
            bodies.add(body)
        }
    }

    private func address(_ data: Data) -> UnsafeRawPointer? { data.withUnsafeBytes { $0.baseAddress } }

    /// The result of the request is the memory that libcurl's bytes were copied to, and so is each look at it.
    @Test(arguments: [(ScriptedResponse.Framing.contentLength, 700_000), (.chunked, 700_000), (.contentLength, 9 << 20)])
    func itIsOneMemory(framing: ScriptedResponse.Framing, count: Int) async throws {
        try await withWire { wire async throws in
            let body = bytes(count)
            wire.server.on("/", ScriptedResponse.ok(.bytes(Array(body))).framed(framing))
            let (held, looks) = (Held(), Gathered<Data>())
            let value = try await wire.get().holdingBody(held.hold)
                .onDownloadProgress { _ in for body in held.bodies.all { looks.add(body.data) } }
                .value()
            let last = try #require(held.bodies.all.last?.data)
            #expect(value == body && address(value) == address(last) && held.statuses.all == [200])
            // A view stays as it was, wherever the rest went.
            #expect(!looks.all.isEmpty && looks.all.allSatisfy { body.starts(with: $0) })
            if framing == .contentLength { #expect(looks.all.allSatisfy { $0.isEmpty || address($0) == address(value) }) }
        }
    }

    /// Each response has memory of its own: a look at that of an attempt that broke off never shows bytes of the next one.
    @Test func anotherAttemptIsAnotherBody() async throws {
        try await withWire { wire async throws in
            let body = bytes(100_000)
            wire.server.enqueue(ScriptedResponse.ok(.repeating(7, count: 100_000)).ending(.truncate(afterBytes: 50_000)))
            wire.server.enqueue(ScriptedResponse.ok(.bytes(Array(body))))
            let held = Held()
            let value = try await wire.get().retry(RetryPolicy(maxAttempts: 2)).holdingBody(held.hold).value()
            #expect(value == body && held.bodies.all.count == 2)
            #expect(held.bodies.all.first?.data.allSatisfy { $0 == 7 } == true)
        }
    }

    @Test func noMoreThanTheLimitIsCollected() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", ScriptedResponse.ok(.repeating(7, count: 300_000)).framed(.chunked))
            let held = Held()
            let error = try await wire.get { $0.limits.bodyBytes = 100_000 }.holdingBody(held.hold).failure()
            #expect(error.code == .bodyTooLarge)
            #expect(held.bodies.all.allSatisfy { $0.count <= 100_000 })
        }
    }

    /// Redirects, refused statuses and stored responses are not what was asked for.
    @Test func othersThanAcceptedOnesAreNotHeld() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", ScriptedResponse.ok("1").header("Cache-Control", "max-age=60"))
            cached.server.on("/from", .redirect(to: "/", status: 302))
            cached.server.on("/none", .status(404))
            let held = Held()
            #expect(try await cached.wire.get("/from").holdingBody(held.hold).value() == Data("1".utf8))
            #expect(held.statuses.all == [200])
            #expect(try await cached.wire.get().holdingBody(held.hold).response().source == .cache)
            _ = try? await cached.wire.get("/none").holdingBody(held.hold).value()
            #expect(held.statuses.all == [200])
        }
    }

    /// Looks of one thread while another one appends: the thread sanitizer sees them.
    @Test func looksAndBytesMeet() async {
        let body = CollectedBody()
        let piece = Data((0..<1_000).map { UInt8($0 % 251) })
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                for _ in 0..<500 { guard piece.withUnsafeBytes({ body.append($0) }) else { return false } }
                return true
            }
            for _ in 0..<2 {
                group.addTask {
                    while true {
                        let data = body.data
                        let isRight = stride(from: 0, to: data.count, by: 997).allSatisfy { data[$0] == UInt8($0 % 1_000 % 251) }
                        if !isRight || data.count == 500_000 { return isRight }
                    }
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }
}

extension Request {
    fileprivate func holdingBody(_ hold: @escaping @Sendable (ResponseHead, CollectedBody) -> Void) -> Self {
        arm { $0.bodyWatch = .holder(hold) }
        return self
    }
}
