import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@_spi(Transport) @testable import ScopedNet

@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(3)))
struct StreamedBodyTests {
    @Test func theWholeBodyComesInOrder() async throws {
        let body = bytes(2_000_000)
        try await withWire { wire async throws in
            wire.server.on("/", .ok(.bytes(Array(body))))
            let response = try await wire.session.stream(wire.url + "/")
            #expect(response.head.status == 200)
            var collected = Data()
            for try await piece in response.bytes { collected += piece }
            #expect(collected.isSame(as: body))
        }
    }

    @Test(arguments: [1, 0, -1, Int.min, Int.max])
    func everyWindowLetsTheBodyThrough(_ window: Int) async throws {
        let body = bytes(300_000)
        try await withWire { wire async throws in
            wire.server.on("/", .ok(.bytes(Array(body))))
            var collected = Data()
            for try await piece in try await wire.session.stream(wire.url + "/", window: window).bytes { collected += piece }
            #expect(collected.isSame(as: body))
        }
    }

    @Test func aSecondReaderIsToldSoAndTheFirstGoesOn() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("body").stalling(.afterHead))
            let bytes = try await wire.session.stream(wire.url + "/").bytes
            var got: [String] = []
            await withTaskGroup(of: String.self) { group in
                for _ in 0..<2 {
                    group.addTask {
                        var iterator = bytes.makeAsyncIterator()
                        do throws(NetworkError) {
                            return String(decoding: try await iterator.next() ?? Data(), as: UTF8.self)
                        } catch {
                            // Only now: the other one waits, whoever that is.
                            wire.server.releaseStalls()
                            return error.code.description
                        }
                    }
                }
                for await text in group { got.append(text) }
            }
            #expect(got.sorted() == ["body", "invalidOption"])
        }
    }

    // THR-6
    @Test func theReaderHoldsBackTheServer() async throws {
        let window = 64 << 10
        // More than twice what is allowed below, and no more: beside other tests each mebibyte takes its time.
        let total = 96 << 20
        try await withWire { wire async throws in
            wire.server.on("/", .ok(.repeating(7, count: total)))
            let response = try await wire.session.stream(wire.url + "/", window: window)
            let request = try await wire.server.takeRequest()
            let stream = response.bytes.bodyStream
            var reader = response.bytes.makeAsyncIterator()
            var read = try #require(try await reader.next()).count
            // What stands between the two is bounded: the window, a piece, and the kernel's buffers. The server comes to a stop
            // while nobody reads: its counter rests over many turns of its loop.
            var sent = -1
            var rests = 0
            while rests < 50 {
                let now = request.bodyBytesSent
                rests = now == sent ? rests + 1 : 0
                sent = now
                _ = try? await wire.session.request("http://127.0.0.1:1/").response()
                #expect(stream.bufferedBytes <= window + 20_000)
            }
            #expect(sent < 40 << 20, "\(sent) bytes were sent to a reader that waits")
            while let piece = try await reader.next() {
                read += piece.count
                if stream.bufferedBytes > window + 20_000 { Issue.record("\(stream.bufferedBytes) bytes were buffered") }
            }
            #expect(read == total)
        }
    }

    @Test func leavingTheLoopClosesTheConnection() async throws {
        let recorder = EventRecorder()
        try await withWire {
            $0.observers = [recorder]
        } _: { wire async throws in
            wire.server.on("/", .ok(.repeating(7, count: 1 << 30)))
            do {
                let response = try await wire.session.stream(wire.url + "/")
                for try await _ in response.bytes { break }
            }
            let request = try await wire.server.takeRequest()
            #expect(try await request.ending() == .clientClosed)
            await wire.agent.waitUntilIdle()
            // The reader stopped it, so the run was cancelled; it did not fail.
            #expect(recorder.events.contains { if case .cancelled = $0 { true } else { false } })
            #expect(!recorder.events.contains { if case .finished = $0 { true } else { false } })
        }
    }

    @Test func aBodyThatIsNeverReadIsStoppedWithItsResponse() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok(.repeating(7, count: 1 << 30)))
            _ = try await wire.session.stream(wire.url + "/")
            #expect(try await wire.server.takeRequest().ending() == .clientClosed)
        }
    }

    @Test func aBodyThatWasReadIsASuccess() async throws {
        let recorder = EventRecorder()
        try await withWire {
            $0.observers = [recorder]
        } _: { wire async throws in
            wire.server.on("/", .ok("hello"))
            for _ in 0..<20 {
                let response = try await wire.session.stream(wire.url + "/")
                for try await _ in response.bytes {}
            }
            await wire.agent.waitUntilIdle()
            #expect(!recorder.events.contains { if case .cancelled = $0 { true } else { false } })
            #expect(wire.server.connectionsAccepted == 1)
        }
    }

    @Test func cancellingTheTaskEndsTheLoopWithItsReason() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("0123456789").stalling(.afterBytes(4)))
            let task = Task {
                let response = try await wire.session.stream(wire.url + "/")
                var read = 0
                for try await piece in response.bytes { read += piece.count }
                return read
            }
            try await wire.server.waitForStalls()
            task.cancel()
            let error = await #expect(throws: NetworkError.self) { try await task.value }
            #expect(error?.code == .cancelled)
            #expect(error?.cancelReason == .taskCancelled)
            #expect(try await wire.server.takeRequest().ending() == .clientClosed)
        }
    }

    @Test func endingTheBagEndsTheLoop() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("0123456789").stalling(.afterBytes(4)))
            let bag = DeallocBag()
            let response = try await wire.session.stream(wire.url + "/", in: bag)
            try await wire.server.waitForStalls()
            bag.end()
            let error = await #expect(throws: NetworkError.self) { for try await _ in response.bytes {} }
            #expect(error?.code == .cancelled)
            #expect(error?.cancelReason == .ownerReleased)
            #expect(try await wire.server.takeRequest().ending() == .clientClosed)
        }
    }

    @Test func aCutBodyThrowsBehindWhatCame() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("0123456789").ending(.truncate(afterBytes: 4)))
            let response = try await wire.session.stream(wire.url + "/")
            var body = Data()
            let error = await #expect(throws: NetworkError.self) { for try await piece in response.bytes { body += piece } }
            #expect(error?.code == .truncatedBody)
            #expect(body == Data("0123".utf8))
        }
    }

    /// The reader has the head already: a second attempt could not be hidden from it.
    @Test func nothingIsRetriedOnceTheHeadWasHandedOver() async throws {
        try await withWire {
            $0.options.retry = RetryPolicy(maxAttempts: 3, backoffBase: .milliseconds(1))
        } _: { wire async throws in
            wire.server.on("/", .ok("0123456789").ending(.truncate(afterBytes: 0)))
            let response = try await wire.session.stream(wire.url + "/")
            let error = await #expect(throws: NetworkError.self) { for try await _ in response.bytes {} }
            #expect(error?.code == .truncatedBody)
            await wire.agent.waitUntilIdle()
            #expect(wire.server.requests.count == 1)
        }
    }

    @Test func anErrorStatusThrowsInsteadOfAHead() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("no").with { $0.status = 404 })
            let error = await #expect(throws: NetworkError.self) { _ = try await wire.session.stream(wire.url + "/") }
            #expect(error?.code == .unacceptableStatus)
            #expect(error?.body == Data("no".utf8))
        }
    }

    @Test func redirectsAreFollowedBeforeTheHead() async throws {
        try await withWire { wire async throws in
            wire.server.on("/a", .redirect(to: "/b"))
            wire.server.on("/b", .ok("there"))
            let response = try await wire.session.stream(wire.url + "/a")
            var body = Data()
            for try await piece in response.bytes { body += piece }
            #expect(response.head.status == 200)
            #expect(body == Data("there".utf8))
        }
    }

    @Test func manyReadersAtOnce() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok(.bytes(Array(bytes(300_000)))))
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<40 {
                    group.addTask {
                        var body = Data()
                        do {
                            for try await piece in try await wire.session.stream(wire.url + "/", window: 8 << 10).bytes {
                                body += piece
                                await Task.yield()
                            }
                        } catch { Issue.record(error) }
                        #expect(body.isSame(as: bytes(300_000)))
                    }
                }
            }
        }
    }
}
