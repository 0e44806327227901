import CleanSlate
import Foundation
import Persistence
import ScopedNetTesting
import SystemSupport
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct LogScaleTests {
    @Test func aCellHasEachOfItsValuesAndKnowsThemToOnePartIn32() {
        var values: [UInt64] = Array(0...4096) + (12...36).flatMap { bit in [-1, 0, 1].map { UInt64(Int64(1) << Int64(bit) + $0) } }
        values += [1_000_000, 59_999_999, 86_400_000_000]
        for value in values {
            let index = LogScale.index(microseconds: value)
            #expect((0..<LogScale.count).contains(index))
            let middle = LogScale.microseconds(index: index)
            #expect(abs(middle - Double(value)) <= Double(value) / 32, "\(value) is \(middle)")
        }
        #expect(values.sorted().map { LogScale.index(microseconds: $0) } == values.map { LogScale.index(microseconds: $0) }.sorted())
        #expect(LogScale.index(microseconds: (1 << 37) - 1) == LogScale.count - 1)
        #expect(LogScale.index(microseconds: .max) == LogScale.count - 1)
    }

    @Test func quantilesAreThoseOfASortedList() {
        var cells = [Int](repeating: 0, count: LogScale.count)
        #expect(LogScale.quantile(0.5, of: cells) == nil)
        for value in 1...100 { cells[LogScale.index(microseconds: UInt64(value) * 1000)] += 1 }
        for (share, expected) in [(0.5, 50), (0.9, 90), (0.99, 99), (1, 100), (0, 1), (-1, 1), (2, 100), (.nan, 1)] {
            #expect(LogScale.quantile(share, of: cells) == LogScale.index(microseconds: UInt64(expected) * 1000), "\(share)")
        }
    }
}

@Suite(.leavesNothing) struct StatisticsTests {
    @Test func everyEndIsCountedOnce() async throws {
        let session = MockTransport.session(unanswered: .wait)
        let mock = session.mock
        mock.on(.get, "ok", .ok("body"))
        mock.on(.get, "missing", .status(404))
        mock.on(.get, "down", .failing(.connectionRefused))
        #expect(session.statistics.description == "0 requests: 0 succeeded")
        for path in ["ok", "ok", "ok", "missing", "down", "down"] { _ = try? await session.send(path) }
        _ = try? await session.send("http://")
        let waiting = session.request("never").start()
        #expect(session.statistics.running == 1)
        waiting.cancel()
        await session.agent.waitUntilIdle()
        let bag = DeallocBag()
        bag.end()
        session.request("ok").start(in: bag)
        await session.agent.waitUntilIdle()
        let statistics = session.statistics
        #expect(statistics.started == 9)
        #expect(statistics.succeeded == 3 && statistics.failed == 4 && statistics.cancelled == 2 && statistics.running == 0)
        #expect(statistics.errors == [.unacceptableStatus: 1, .connectionRefused: 2, .invalidURL: 1])
        #expect(statistics.durations.count == 7)
        #expect(statistics.transfers >= 6 && statistics.retries == 0)
        #expect(statistics.description.hasPrefix("9 requests: 3 succeeded, 4 failed (connectionRefused 2, invalidURL 1, "))
        #expect(statistics.description.contains(", 2 cancelled; "))
        #expect(statistics.description.contains("; p50 "))
    }

    @Test func theCountIsThereInTheCallback() async {
        let session = MockTransport.session()
        session.mock.on("x", .ok())
        let seen = Trace()
        session.request("x").onSuccess { [weak session] _ in
            if let session { seen.add("\(session.statistics.succeeded) \(session.statistics.running)") }
        }.start()
        await session.agent.waitUntilIdle()
        #expect(seen.lines == ["1 0"])
    }

    @Test func retriesAndTransfersAreCounted() async throws {
        let clock = ManualClock()
        let session = MockTransport.session {
            $0.use(clock)
            $0.options.retry = .standard
        }
        session.mock.on(.get, "flaky", [.status(503), .failing(.connectionLost), .ok("x")])
        session.mock.on(.get, "moved", .redirect(to: "/flaky"))
        let reading = Task { try await session.send("moved").text }
        for _ in 0..<2 {
            await clock.waitForTimers(1)
            clock.fireNext()
        }
        #expect(try await reading.value == "x")
        #expect(session.statistics.started == 1 && session.statistics.retries == 2 && session.statistics.transfers == 4)
    }

    @Test func theCacheIsCounted() async throws {
        let folder = TemporaryFolder()
        let cache = ResponseCache(StoreConfiguration(directory: folder.path))
        let session = MockTransport.session { $0.cache = cache }
        let fresh = MockReply.ok("x").header(.cacheControl, "max-age=60")
        session.mock.on(.get, "fresh", fresh)
        let stale = MockReply.ok("y").header(.cacheControl, "max-age=0").header(.eTag, "\"1\"")
        session.mock.on(.get, "stale", [stale, .status(304).header(.eTag, "\"1\"")])
        for path in ["fresh", "fresh", "fresh", "stale", "stale"] { _ = try await session.send(path) }
        let statistics = session.statistics
        #expect(statistics.cacheHits == 2 && statistics.cacheValidations == 1 && statistics.cacheMisses == 2)
        #expect(statistics.cacheHits == session.cacheStatistics?.hits && statistics.cacheMisses == session.cacheStatistics?.misses)
        #expect(statistics.succeeded == 5 && statistics.transfers == 3)
        await cache.store.close()
    }

    @Test func derivedSessionsCountTogetherAndOthersForThemselves() async throws {
        let session = MockTransport.session()
        session.mock.on("x", .ok())
        let derived = session.with { $0.options.timeouts.total = .seconds(9) }
        let other = Session(configuration: session.configuration)
        _ = try await derived.send("x")
        _ = try await session.send("x")
        #expect(session.statistics.succeeded == 2 && derived.statistics.succeeded == 2)
        #expect(other.statistics.started == 0)
    }

    @Test func aRefusedStartIsNone() async {
        let session = MockTransport.session(unanswered: .wait) { $0.options.repeats = .keepRunning }
        let request = session.request("x")
        let run = request.start()
        #expect(request.start().wasRefused)
        #expect(session.statistics.started == 1)
        run.cancel()
        await session.agent.waitUntilIdle()
    }

    /// Eight threads; each count is exact in the end.
    @Test func manyThreadsCountExactly() async {
        let counter = StatisticsCounter()
        let session = MockTransport.session()
        session.mock.on("ok", .ok("x"))
        session.mock.on("bad", .status(500))
        let rounds = 300
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<8 {
                group.addTask {
                    for round in 0..<rounds {
                        counter.start()
                        counter.end(round % 3 == 0 ? .idleTimeout : nil, nanoseconds: UInt64(round) * 1_000_000)
                        let run = session.request(round % 2 == 0 ? "ok" : "bad").start()
                        if round % 5 == thread % 5 { run.cancel() }
                    }
                }
            }
        }
        await session.agent.waitUntilIdle()
        let bare = counter.snapshot
        #expect(bare.started == 8 * rounds && bare.failed == 8 * rounds / 3 && bare.succeeded == 8 * rounds * 2 / 3)
        #expect(bare.errors == [.idleTimeout: 8 * rounds / 3] && bare.durations.count == 8 * rounds)
        let statistics = session.statistics
        #expect(statistics.started == 8 * rounds && statistics.running == 0)
        #expect(statistics.errors.values.reduce(0, +) == statistics.failed)
        #expect(statistics.durations.count == statistics.succeeded + statistics.failed)
        #expect(statistics.cancelled <= 8 * rounds / 5 + 8)
    }

    /// A server that counts its own bytes.
    @Test func bytesAreThoseOnTheWire() async throws {
        let read = Lock(0)
        let response = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Room: \(String(repeating: "y", count: 40))\r\n\r\nhello"
        try await withRawServer { connection, _ in
            while let head = connection.readHead() {
                let length = head.contains("POST ") ? 10 : 0
                guard connection.read(length) != nil else { return }
                read.withLock { $0 += head.utf8.count + length }
                connection.send(response)
            }
        } _: { server, session in
            let url = "http://127.0.0.1:\(server.port)/"
            for _ in 0..<3 { _ = try await session.send(url) }
            _ = try await session.send(url, method: .post, body: .data(Data("0123456789".utf8)))
            let statistics = session.statistics
            #expect(statistics.succeeded == 4 && statistics.transfers == 4)
            #expect(statistics.bytesSent == Int64(read.withLock { $0 }))
            #expect(statistics.bytesReceived == Int64(4 * response.utf8.count))
        }
    }
}
