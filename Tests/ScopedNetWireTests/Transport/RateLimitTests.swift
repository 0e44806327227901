import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// MP-9: limits on the speed of transfers, in bytes against time. A slow machine makes transfers slower, never faster: only what is too fast is a
/// failure.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(2)))
struct RateLimitTests {
    private let folder = TemporaryFolder()
    /// Counts a body while it comes, and answers nothing.
    private static let counting = ScriptedResponse.ok().stalling(.beforeHead).with { $0.requestBody = .receiveWhileAnswering }

    /// At most what the rate allows since the start, and what moves at once.
    private func expectPace(_ bytes: Int, _ rate: Int, since start: ContinuousClock.Instant, _ location: SourceLocation = #_sourceLocation)
    {
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        #expect(Double(bytes) <= Double(rate) * (seconds + 1.2) + 16_384, "\(bytes) bytes in \(seconds) s", sourceLocation: location)
    }

    @Test(arguments: [ScriptedResponse.Framing.contentLength, .chunked]) func aDownloadKeepsToItsRate(_ framing: ScriptedResponse.Framing)
        async throws
    {
        try await withWire { wire async throws in
            wire.server.on("/", .ok(.repeating(7, count: 300_000)).framed(framing))
            let start = ContinuousClock.now
            let response = try await wire.get { $0.limits.downloadRate = 150_000 }.response()
            #expect(response.body.count == 300_000)
            expectPace(300_000, 150_000, since: start)
            #expect(ContinuousClock.now - start > .milliseconds(500))
        }
    }

    @Test func aFileKeepsToItsRate() async throws {
        try await withWire {
            $0.options.limits.downloadRate = 150_000
        } _: { wire async throws in
            wire.server.on("/", .ok(.repeating(7, count: 300_000)))
            let start = ContinuousClock.now
            _ = try await wire.session.download(wire.url + "/", to: URL(filePath: folder.path + "/down")).response()
            expectPace(300_000, 150_000, since: start)
            #expect(folder.contents(of: "down")?.count == 300_000)
        }
    }

    /// Also one that would go out in one piece with its head otherwise.
    @Test func anUploadKeepsToItsRate() async throws {
        let plain = bytes(60_000)
        let file = folder.write(plain, to: "up")
        var form = MultipartForm()
        form.add("Holidays", name: "title")
        try form.add(file: URL(filePath: file), name: "photo")
        var parts = Data()
        try await form.write { parts.append($0) }
        let bodies: [(RequestBody, Data)] = [
            (.data(plain), plain), (.file(file), plain), (.stream(AsyncPieces([plain]), length: 60_000), plain),
            (.stream(AsyncPieces([plain])), plain), (.multipart(form), parts),
        ]
        for (index, (body, expected)) in bodies.enumerated() {
            try await withWire { wire async throws in
                wire.server.on("/", .ok())
                let start = ContinuousClock.now
                let request = wire.session.request(wire.url + "/", method: .post, body: body).options { $0.limits.uploadRate = 40_000 }
                _ = try await request.response()
                let seen = try await wire.server.takeRequest()
                #expect(seen.body.count == expected.count && Data(seen.body).isSame(as: expected), "body \(index)")
                expectPace(expected.count, 40_000, since: start)
                #expect(ContinuousClock.now - start > .milliseconds(400), "body \(index)")
            }
        }
    }

    /// One thread carries all transfers: where it slept for one, the others would stand still with it (defect 8).
    @Test func othersAreNotSlowed() async throws {
        try await withWire {
            $0.options.timeouts.idle = .seconds(2)
        } _: { wire async throws in
            wire.server.on("/down", .ok(.repeating(7, count: 20 << 20)))
            wire.server.on("/up", Self.counting)
            wire.server.on("/small", .ok("x"))
            let start = ContinuousClock.now
            let down = wire.get("/down") { $0.limits.downloadRate = 20_000 }.start()
            let up = wire.session.request(wire.url + "/up", method: .put, body: .data(bytes(20 << 20))).options {
                $0.limits.uploadRate = 20_000
            }
            .start()
            try await wire.server.waitForRequests(2)
            for _ in 0..<400 { _ = try await wire.send("/small") }
            // 400 exchanges, one after the other, took so long that the two were far from their ends.
            #expect(wire.server.requests.filter { $0.path == "/small" }.count == 400)
            let upload = try #require(wire.server.requests.first { $0.path == "/up" })
            expectPace(upload.bodyBytesReceived, 20_000, since: start)
            #expect(upload.bodyBytesReceived < 10 << 20)
            let ends = [down.cancel(), up.cancel()]
            #expect(ends == [.cancelled, .cancelled])
        }
    }

    /// So slow that nothing moves for longer than the idle time: that is our doing, not the network's.
    @Test func theIdleClockLeavesTimeForTheLimit() async throws {
        try await withWire {
            $0.options.timeouts.idle = .milliseconds(300)
        } _: { wire async throws in
            wire.server.on("/", .ok(.repeating(7, count: 2_000)))
            let down = try await wire.get { $0.limits.downloadRate = 1_000 }.response()
            #expect(down.body.count == 2_000)
            let up = wire.session.request(wire.url + "/", method: .post, body: .data(bytes(20))).options { $0.limits.uploadRate = 10 }
            _ = try await up.response()
            #expect(wire.server.requests.last?.body.count == 20)
        }
    }

    /// A limit does not make a dead connection live for ever.
    @Test func silenceIsStillNoticed() async throws {
        try await withWire {
            $0.options.timeouts.idle = .milliseconds(100)
            $0.options.limits.downloadRate = 10 << 20
        } _: { wire async throws in
            wire.server.on("/", .ok("0123456789").stalling(.afterBytes(5)))
            let error = try await wire.get().failure()
            #expect(error.code == .idleTimeout)
        }
    }

    // G5, G10
    @Test func aCancelInTheMiddleEndsItOnTheWire() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", Self.counting)
            let calls = Gathered<String>()
            let request = wire.session.request(wire.url + "/", method: .post, body: .data(bytes(1 << 20))).options {
                $0.limits.uploadRate = 10_000
            }
            .onSuccess { _ in calls.add("success") }
            .onFailure { _ in calls.add("failure") }
            .onEnd { calls.add("\($0.isCancelled)") }
            let run = request.start()
            try await wire.server.waitForRequests(1)
            try await wire.server.requests[0].waitForBodyBytesReceived(1)
            #expect(run.cancel() == .cancelled)
            try await wire.server.waitForClientsToLeave()
            await wire.agent.waitUntilIdle()
            #expect(calls.all == ["true"] && wire.server.requests[0].bodyBytesReceived < 1 << 20)
        }
    }

    @Test(arguments: [0, -1, Int.min]) func aRateThatMovesNothingIsAMistake(_ rate: Int) async throws {
        try await withWire { wire async throws in
            for change: @Sendable (inout RequestOptions) -> Void in [{ $0.limits.uploadRate = rate }, { $0.limits.downloadRate = rate }] {
                let error = try await wire.get("/", change).failure()
                #expect(error.code == .invalidOption && error.phase == .preparing)
            }
            #expect(wire.server.connectionsAccepted == 0)
        }
    }

    /// The handle that was slow serves the next transfer at full speed.
    @Test func aLimitEndsWithItsTransfer() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok(.repeating(7, count: 4_000)))
            wire.server.on("/large", .ok(.repeating(7, count: 4 << 20)))
            _ = try await wire.get { $0.limits.downloadRate = .max }.response()
            _ = try await wire.get { $0.limits.downloadRate = 20_000 }.response()
            let start = ContinuousClock.now
            _ = try await wire.get("/large").response()
            // At the limit of the one before it would take three minutes.
            #expect(ContinuousClock.now - start < .seconds(60))
        }
    }
}
