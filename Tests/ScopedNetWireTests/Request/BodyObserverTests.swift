import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import ScopedNetTesting
import SystemSupport
import Testing

@testable import ScopedNet

/// Bodies that are read while they arrive, and collected all the same: ``Request/onBody(window:fileID:line:_:)``.
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct BodyObserverTests {
    /// The pieces and ends that a reader has seen.
    private final class Seen: Sendable {
        let pieces = Gathered<Data>()
        let ends = Gathered<String>()
        let hasRead = Latch()
        var bytes: Data { pieces.all.reduce(Data(), +) }

        func read(_ body: StreamedResponse.Bytes) async {
            do throws(NetworkError) {
                for try await piece in body { pieces.add(piece) }
                ends.add("end")
            } catch { ends.add("\(error.code) \(error.cancelReason?.description ?? "")") }
            hasRead.open()
        }
    }

    @Test func theBodyIsObservedAndStored() async throws {
        try await withCache { cached async throws in
            let body = bytes(700_000)
            cached.server.on("/", ScriptedResponse.ok(.bytes(Array(body))).header("Cache-Control", "max-age=60"))
            let seen = Seen()
            let first = try await cached.wire.get().onBody { head, body in
                #expect(head.status == 200)
                await seen.read(body)
            }.value()
            await seen.hasRead.wait()
            #expect(first == body && seen.bytes == body && seen.pieces.all.count > 1 && seen.ends.all == ["end"])
            // Of what is stored it is not told.
            let second = try await cached.wire.get().onBody { _, _ in Issue.record("a stored body was observed") }.response()
            #expect(second.source == .cache && second.body == body)
            #expect(cached.server.requests.count == 1)
        }
    }

    @Test func aSlowReaderHoldsTheTransferUp() async throws {
        try await withWire { wire async throws in
            let count = 8 << 20
            wire.server.on("/", ScriptedResponse.ok(.repeating(7, count: count)))
            let (mayRead, seen, received) = (Latch(), Seen(), Gathered<Int64>())
            let run = wire.get().onBody(window: 16 << 10) { _, body in
                await mayRead.wait()
                await seen.read(body)
            }.onDownloadProgress { received.add($0.completed) }.start()
            // Still for a while: it does not move without its reader.
            for _ in 0..<20 { try await Task.sleep(for: .milliseconds(10)) }  // progress is told at most every so often
            #expect(run.status.stage == .transferring)
            #expect((received.all.last ?? 0) < 1 << 20)
            mayRead.open()
            await seen.hasRead.wait()
            await wire.agent.waitUntilIdle()
            #expect(seen.pieces.all.reduce(0) { $0 + $1.count } == count && seen.ends.all == ["end"])
            #expect(run.status.stage == .ended)
        }
    }

    @Test func itsCodingIsUndone() async throws {
        try await withWire { wire async throws in
            wire.server.on(
                "/", ScriptedResponse.ok(.bytes(CodedBodies.brotliText)).header("Content-Encoding", "br"))
            let seen = Seen()
            let value = try await wire.get().onBody { _, body in await seen.read(body) }.value()
            await seen.hasRead.wait()
            #expect(value == Data(CodedBodies.text) && seen.bytes == value)
        }
    }

    @Test func eachAttemptIsReadAnewAndErrorPagesAreNot() async throws {
        try await withWire {
            $0.options.retry = RetryPolicy(maxAttempts: 3, backoffBase: .milliseconds(1))
        } _: { wire async throws in
            wire.server.enqueue(.status(503).with { $0.body = .bytes(Array("sorry".utf8)) })
            wire.server.enqueue(.malformed(.shortBody))
            wire.server.enqueue(.ok("whole"))
            let (broken, whole) = (Seen(), Seen())
            let heads = Gathered<Int>()
            let value = try await wire.get().onBody { head, body in
                heads.add(head.status)
                await (heads.all.count == 1 ? broken : whole).read(body)
            }.value()
            await broken.hasRead.wait()
            await whole.hasRead.wait()
            #expect(value == Data("whole".utf8) && heads.all == [200, 200])
            #expect(broken.bytes == Data("hello".utf8) && broken.ends.all.first?.hasPrefix("end") == false)
            #expect(whole.bytes == value && whole.ends.all == ["end"])
        }
    }

    @Test func aCancelEndsTheReader() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", ScriptedResponse.ok(.repeating(7, count: 100_000)).stalling(.afterBytes(50_000)))
            let (seen, hasBegun) = (Seen(), Latch())
            let bag = DeallocBag()
            wire.get().onBody { _, body in
                hasBegun.open()
                await seen.read(body)
            }.start(in: bag)
            await hasBegun.wait()
            bag.end()
            await seen.hasRead.wait()
            #expect(seen.ends.all == ["cancelled owner released"])
            wire.server.releaseStalls()
        }
    }

    /// The run is over, and what has come is still being read: the owner's end reaches that, too.
    @Test func theEndOfTheBagReachesAReaderThatIsBehind() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("a few bytes"))
            let (seen, mayRead) = (Seen(), Latch())
            let bag = DeallocBag()
            _ = try await wire.get().onBody { _, body in
                await mayRead.wait()
                await seen.read(body)
            }.value(in: bag)
            #expect(bag.count == 1)
            bag.end()
            mayRead.open()
            await seen.hasRead.wait()
            #expect(seen.ends.all == ["cancelled owner released"] && seen.bytes.isEmpty)
        }
    }

    @Test func theBagWaitsForTheReader() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("a few bytes"))
            let (seen, mayRead) = (Seen(), Latch())
            let bag = DeallocBag()
            _ = try await wire.get().onBody { _, body in
                await mayRead.wait()
                await seen.read(body)
            }.value(in: bag)
            async let idle: Void = bag.waitUntilIdle()
            mayRead.open()
            await idle
            #expect(seen.ends.all == ["end"] && bag.count == 0)
        }
    }

    /// Left after its first piece, or never read at all, it stops nothing.
    @Test(arguments: [true, false]) func aReaderThatLeavesStopsNothing(reads: Bool) async throws {
        try await withWire { wire async throws in
            let count = 2 << 20
            wire.server.on("/", ScriptedResponse.ok(.repeating(7, count: count)))
            let value = try await wire.get().onBody(window: 4 << 10) { _, body in
                guard reads else { return }
                for try await _ in body { break }
            }.value()
            #expect(value.count == count)
        }
    }

    /// A transfer that goes on without its owner does so without the reader that it waited for.
    @Test func aDetachedTransferDoesNotWaitForItsReader() async throws {
        try await withCache { cached async throws in
            let wire = cached.wire
            wire.server.on("/", ScriptedResponse.ok(.repeating(7, count: 1 << 20)).header("Cache-Control", "max-age=60"))
            let (seen, hasBegun, mayRead) = (Seen(), Latch(), Latch())
            let bag = DeallocBag()
            wire.get { $0.release = .detached }.onBody(window: 4 << 10) { _, body in
                hasBegun.open()
                await mayRead.wait()
                await seen.read(body)
            }.start(in: bag)
            await hasBegun.wait()
            bag.end()
            await wire.agent.waitUntilIdle()
            #expect(try await wire.get().response().source == .cache)
            mayRead.open()
            await seen.hasRead.wait()
            #expect(seen.ends.all == ["cancelled owner released"])
        }
    }

    /// The program decides first: what it refuses or puts into a file is not read.
    @Test func aRefusedBodyIsNotRead() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", ScriptedResponse.ok(.repeating(7, count: 1 << 20)))
            let folder = TemporaryFolder()
            let bag = DeallocBag()
            let refused = wire.get().onBody { _, _ in Issue.record("it was read") }.decideDisposition { _ in .cancel }
            let error = await #expect(throws: NetworkError.self) { try await refused.value(in: bag) }
            #expect(error?.isCancelled == true)
            _ = try? await wire.get().onBody { _, _ in Issue.record("it was read") }
                .decideDisposition { _ in .download(to: URL(fileURLWithPath: folder.path + "/f")) }.value(in: bag)
            let seen = Seen()
            let value = try await wire.get().onBody { _, body in await seen.read(body) }.decideDisposition { _ in .allow }.value(in: bag)
            await seen.hasRead.wait()
            #expect(seen.bytes == value && seen.ends.all == ["end"])
            await bag.waitUntilIdle()
            #expect(bag.count == 0)
        }
    }

    /// After its loop the closure may take its time, and even wait for the run.
    @Test func aReaderThatHasLeftItsLoopHoldsNothingUp() async throws {
        try await withWire { wire async throws in
            let count = 2 << 20
            wire.server.on("/", ScriptedResponse.ok(.repeating(7, count: count)))
            let hasEnded = Latch()
            let value = try await wire.get().onBody(window: 4 << 10) { _, body in
                for try await _ in body { break }
                await hasEnded.wait()
            }.value()
            #expect(value.count == count)
            hasEnded.open()
        }
    }

    /// Complete, and not delivered yet: a cancel reaches the reader that is behind.
    @Test func aCancelAfterTheTransferReachesTheReader() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("a few bytes"))
            let (seen, mayRead, isDecoding, mayDecode) = (Seen(), Latch(), Latch(), Latch())
            let run = wire.session.get(
                wire.url + "/",
                decoder: ResponseDecoder<Int> { _, _ in
                    isDecoding.open()
                    while !mayDecode.isOpen { usleep(1_000) }
                    return 1
                }
            ).onBody { _, body in
                await mayRead.wait()
                await seen.read(body)
            }.start()
            await isDecoding.wait()
            run.cancel()
            // From here on the decoder has nothing to hold up, and others wait for its thread: there are as few as cores.
            mayDecode.open()
            mayRead.open()
            await seen.hasRead.wait()
            #expect(seen.ends.all == ["cancelled explicit"])
            await wire.agent.waitUntilIdle()
        }
    }

    @Test func theClosureIsDestroyed() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("x"))
            var canary: Canary? = Canary()
            weak let watched = canary
            let request = wire.get().onBody { [canary] _, body in
                withExtendedLifetime(canary) {}
                for try await _ in body {}
            }
            canary = nil
            #expect(watched != nil)
            let bag = DeallocBag()
            _ = try await request.value(in: bag)
            await bag.waitUntilIdle()
            await wire.agent.waitUntilIdle()
            // Its task may be on its way out still.
            await eventually { watched == nil }
            // The next start has none.
            _ = try await request.value()
        }
    }

    @Test func theMockOffersItToo() async throws {
        let session = MockTransport.session("http://mock.test/")
        session.mock.on("a", .ok("hello, world").inPieces(of: 5))
        let seen = Seen()
        let value = try await session.get("a", as: String.self).onBody(window: 1) { _, body in await seen.read(body) }.value()
        await seen.hasRead.wait()
        #expect(value == "hello, world" && seen.bytes == Data("hello, world".utf8) && seen.pieces.all.count > 3)
        await session.shutdown()
    }

    /// It went round for ever, and at the end of the transfer it ended like a whole body.
    @Test func aReaderThatHasLeftItsLoopGetsNothingMore() async throws {
        let session = MockTransport.session("http://mock.test/", unanswered: .wait)
        let seen = Seen()
        let run = session.get("a").onBody { _, body in
            for try await _ in body { break }
            await seen.read(body)
        }.start()
        let exchange = await session.mock.exchange(0)
        exchange.receiveHead()
        exchange.receive(Data("one".utf8))
        await seen.hasRead.wait()
        #expect(seen.pieces.all.isEmpty && seen.ends.all.count == 1 && seen.ends.all[0].hasPrefix("cancelled"))
        // The run goes on all the same.
        exchange.receive(Data("two".utf8))
        exchange.finish()
        await session.agent.waitUntilIdle()
        #expect(run.status.stage == .ended && session.statistics.succeeded == 1)
        await session.shutdown()
    }

    @Test func aCancelledChildThatReadsEndsAtOnce() async throws {
        let session = MockTransport.session("http://mock.test/", unanswered: .wait)
        let seen = Seen()
        session.get("a").onBody { _, body in
            let child = Task { await seen.read(body) }
            await eventually { seen.pieces.all.count == 1 }
            for _ in 0..<100 { await Task.yield() }
            child.cancel()
            await child.value
        }.start()
        let exchange = await session.mock.exchange(0)
        exchange.receiveHead()
        exchange.receive(Data("one".utf8))
        await seen.hasRead.wait()
        #expect(seen.ends.all.count == 1 && seen.ends.all[0].hasPrefix("cancelled"), "\(seen.ends.all)")
        exchange.finish()
        await session.agent.waitUntilIdle()
        await session.shutdown()
    }

    /// The closure is on its way to the owner's actor, and there the owner goes first.
    @MainActor @Test(arguments: [0, 300]) func aReaderDoesNotBeginBehindTheEndOfItsBag(others: Int) async throws {
        let session = MockTransport.session("http://mock.test/", unanswered: .wait)
        let calls = Gathered<Bool>()
        for round in 0..<50 {
            let bag = DeallocBag()
            // Of a large bag only the mark is set by then; the rest is done in the background.
            for _ in 0..<others { bag.insert(AnyCancellable {}) }
            let isOver = Gathered<Bool>()
            session.get("\(round)").onBody { @MainActor _, _ in calls.add(!isOver.all.isEmpty) }.start(in: bag)
            let exchange = await session.mock.exchange(round)
            exchange.receiveHead()
            exchange.receive(Data("one".utf8))
            usleep(useconds_t(round * 60))  // the actor is busy
            bag.end()
            isOver.add(true)
            await session.agent.waitUntilIdle()
        }
        await Task.yield()
        #expect(!calls.all.contains(true))
        await session.shutdown()
    }
}
