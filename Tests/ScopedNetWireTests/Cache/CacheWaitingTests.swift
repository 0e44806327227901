import CleanSlate
import Foundation
import Glibc
import HTTPTypes
import Persistence
import ScopedNetTestServer
@_spi(Transport) import ScopedNetTesting
import Synchronization
import SystemSupport
import Testing

@_spi(Transport) @testable import ScopedNet

/// What the cache does for requests that wait, are led elsewhere, or are refreshed beside.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct CacheWaitingTests {
    private let short = Duration.milliseconds(30)

    @Test func staleIsServedWhenTheQueueIsTooLong() async throws {
        try await withCache {
            $0.limits.perHost = 1
        } _: { cached async throws in
            cached.server.enqueue(fresh("old", 1))
            cached.server.on("/slow", .ok("x").stalling(.beforeHead))
            _ = try await cached.get()
            cached.clock.advance(10)
            cached.wire.get("/slow") { $0.cache = .off }.start()
            try await cached.server.waitForStalls()
            let response = try await cached.get("/") { $0.timeouts.queue = short }
            #expect(response.source == .cache && response.body == Data("old".utf8))
            // Without anything stored it is the error it always was.
            let error = try await cached.wire.get("/other") { $0.timeouts.queue = short }.failure()
            #expect(error.code == .queueTimeout)
            cached.server.releaseStalls()
        }
    }

    @Test func whatMustBeValidatedIsNotServedWhenTheQueueIsTooLong() async throws {
        try await withCache {
            $0.limits.perHost = 1
        } _: { cached async throws in
            cached.server.enqueue(ScriptedResponse.ok("old").header("Cache-Control", "max-age=1, must-revalidate"))
            cached.server.on("/slow", .ok("x").stalling(.beforeHead))
            _ = try await cached.get()
            cached.clock.advance(10)
            cached.wire.get("/slow") { $0.cache = .off }.start()
            try await cached.server.waitForStalls()
            let error = try await cached.wire.get("/") { $0.timeouts.queue = short }.failure()
            #expect(error.code == .queueTimeout && error.response == nil)
            cached.server.releaseStalls()
        }
    }

    @Test func staleIsServedWhenNoPathComesInTime() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/cache-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (clock, network) = (WallClock(), ManualConnectivity(isSatisfied: true))
        let cache = ResponseCache(StoreConfiguration(directory: folder)) { clock.now }
        try await withStage {
            $0.cache = cache
            $0.connectivity = network.connectivity
            $0.options.waitsForConnectivity = true
            $0.options.timeouts.connectivity = short
        } _: { session, transport in
            transport.on("http://192.0.2.1/", MockReply(headers: [.cacheControl: "max-age=1"], body: Data("old".utf8)))
            _ = try await session.send("http://192.0.2.1/")
            clock.advance(10)
            network.disconnect()
            let response = try await session.send("http://192.0.2.1/")
            #expect(response.source == .cache && response.body == Data("old".utf8))
            // Without anything stored it is the error it always was.
            let error = await #expect(throws: NetworkError.self) { try await session.send("http://192.0.2.1/other") }
            #expect(error?.code == .connectivityTimeout)
            #expect(transport.started.count == 1)
        }
        await cache.store.close()
    }

    @Test func anErrorsBodyBeyondTheLimitIsTheErrorItWouldHaveBeen() async throws {
        try await withCache {
            $0.options.limits.bodyBytes = 1_000
        } _: { cached async throws in
            cached.server.on(
                "/", ScriptedResponse.status(404).with { $0.body = .bytes(Array(bytes(5_000))) }.header("Cache-Control", "max-age=60"))
            for _ in 0..<2 {
                let error = try await cached.wire.get().failure()
                #expect(error.code == .unacceptableStatus && error.response?.status == 404)
            }
            // It was not whole, and so was not stored.
            #expect(cached.server.requests.count == 2)
        }
    }

    @Test func keysAreMadeOffTheNetworkThread() async throws {
        let names = Lock<Set<String>>([])
        try await withCache {
            $0.options.cache.customKey = CachePolicy.CustomKey("whole") { _, url in
                let name = (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) ?? "?"
                _ = names.withLock { $0.insert(name.trimmingCharacters(in: .whitespacesAndNewlines)) }
                return url
            }
        } _: { cached async throws in
            cached.server.on("/", ScriptedResponse.redirect(to: "/b", status: 301).header("Cache-Control", "max-age=60"))
            cached.server.on("/b", fresh("b"))
            let first = try await cached.get()
            #expect(first.body == Data("b".utf8))
        }
        let seen = names.withLock { $0 }
        #expect(!seen.isEmpty && !seen.contains("scopednet"), "\(seen)")
    }

    @Test func theSecretIsKeptInAFolderThatIsNotThereYet() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/secret-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let first = CacheSecret(directory: folder + "/a/b/c").hash([1, 2, 3])
        let second = CacheSecret(directory: folder + "/a/b/c").hash([1, 2, 3])
        #expect(first == second)
        #expect(FileManager.default.fileExists(atPath: folder + "/a/b/c/secret"))
    }

    /// Whoever made the folder could read the key, or have set it.
    @Test(.enabled(if: geteuid() == 0, "another user's folder can be made by root alone")) func aSecretInAnotherUsersFolderIsNotUsed() {
        let folder = TemporaryFolder()
        _ = folder.write(Data(0..<16), to: "secret")
        chmod(folder.path, 0o755)
        chown(folder.path, 54_321, 54_321)
        let first = CacheSecret(directory: folder.path).hash([1, 2, 3])
        let second = CacheSecret(directory: folder.path).hash([1, 2, 3])
        #expect(first != second)
        #expect(folder.names == ["secret"])
    }

    @Test func aSecretThatOthersMayWriteIsNotUsed() {
        let folder = TemporaryFolder()
        chmod(folder.path, 0o700)
        _ = folder.write(Data(0..<16), to: "secret")
        chmod(folder.path + "/secret", 0o666)
        let first = CacheSecret(directory: folder.path).hash([1, 2, 3])
        let second = CacheSecret(directory: folder.path).hash([1, 2, 3])
        #expect(first != second)
    }

    @Test func aRefreshBesideAsksTheProgramToo() async throws {
        try await withCache {
            $0.options.hooks.shouldCache = { value, _ in (value as? Data) != Data("bad".utf8) }
        } _: { cached async throws in
            for text in ["old", "bad", "new"] {
                cached.server.enqueue(ScriptedResponse.ok(text).header("Cache-Control", "max-age=1, stale-while-revalidate=600"))
            }
            var bodies: [String] = []
            for _ in 0..<4 {
                bodies.append(String(decoding: try await cached.get().body, as: UTF8.self))
                await cached.wire.agent.waitUntilIdle()
                cached.clock.advance(10)
            }
            // Each of the stale ones sent a refresh; the one that came with "bad" has changed nothing.
            #expect(Array(bodies.prefix(3)) == ["old", "old", "old"])
            #expect(bodies.last == "new" && cached.server.requests.count >= 3)
        }
    }

    @Test func aStaleDownloadAsksTheServerFirst() async throws {
        try await withCache { cached async throws in
            cached.server.enqueue(
                ScriptedResponse.ok("old").header("Cache-Control", "max-age=1, stale-while-revalidate=600").header("ETag", "\"1\""))
            cached.server.enqueue(ScriptedResponse.status(304).header("Cache-Control", "max-age=60").header("ETag", "\"1\""))
            let file = FileManager.default.temporaryDirectory.path + "/download-\(UUID().uuidString)"
            defer { try? FileManager.default.removeItem(atPath: file) }
            var sources: [ResponseSource] = []
            for _ in 0..<3 {
                let target = URL(fileURLWithPath: file)
                sources.append(try await cached.wire.session.download(cached.server.url + "/", to: target).response().source)
                if sources.count == 1 { cached.clock.advance(10) }
            }
            #expect(sources == [.network, .validatedCache, .cache])
            #expect(FileManager.default.contents(atPath: file) == Data("old".utf8))
        }
    }

    // MARK: The time of those who follow

    /// A cache over a staged transport and a clock moved by hand, and one who follows with a total time of 600 ms.
    private func withFollower(
        _ body: (StagedTransport, ManualClock, Run, Task<Result<Data, NetworkError>, Never>) async throws -> Void
    ) async throws {
        let folder = TemporaryFolder()
        let cache = ResponseCache(StoreConfiguration(directory: folder.path + "/cache"))
        let clock = ManualClock()
        try await withStage {
            $0.cache = cache
            $0.timing = clock
        } _: { session, stage in
            let leader = session.request("http://h/").start()
            await stage.waitForStarts(1)
            let follower = session.request("http://h/").options { $0.timeouts.total = .milliseconds(600) }
            let waiting = Task { () -> Result<Data, NetworkError> in
                do throws(NetworkError) { return .success(try await follower.value()) } catch { return .failure(error) }
            }
            while cache.coalescer.followerCount < 1 { await Task.yield() }
            try await body(stage, clock, leader, waiting)
        }
        await cache.store.close()
    }

    @Test func aFollowersTotalTimeIsOverWhileItWaits() async throws {
        try await withFollower { stage, clock, leader, waiting in
            clock.advance(by: .milliseconds(600))
            let result = await waiting.value
            let error = #expect(throws: NetworkError.self) { try result.get() }
            #expect(error?.code == .totalTimeout)
            #expect(stage.started.count == 1, "it asked the server when its time was over")
            _ = leader.cancel()
        }
    }

    /// 600 ms had become 1,204.
    @Test func aFollowerWhoseLeaderFailsHasWhatIsLeftOfItsTime() async throws {
        try await withFollower { stage, clock, _, waiting in
            let begin = clock.now()
            clock.advance(by: .milliseconds(500))
            stage.fail(stage.started[0])
            await stage.waitForStarts(2)
            #expect(stage.started[1].transfer.deadline == begin + 600_000_000)
            stage.succeed(stage.started[1])
            let result = await waiting.value
            #expect(throws: Never.self) { try result.get() }
        }
    }

    // MARK: Refreshing many

    /// Each is asked for many times at once while it is stale: one refresh goes out for each.
    @Test func aStormOverManyKeysRefreshesEachOnce() async throws {
        try await withCache { cached async throws in
            let (keys, askers) = (40, 10)
            let response = ScriptedResponse.ok("a").header("Cache-Control", "max-age=1, stale-while-revalidate=600")
            for key in 0..<keys {
                cached.server.on("/\(key)", response)
                _ = try await cached.get("/\(key)")
            }
            cached.clock.advance(10)
            try await withThrowingTaskGroup(of: ResponseSource.self) { group in
                for _ in 0..<askers {
                    for key in 0..<keys { group.addTask { try await cached.get("/\(key)").source } }
                }
                for try await source in group { #expect(source == .cache) }
            }
            await cached.wire.agent.waitUntilIdle()
            let counts = Dictionary(grouping: cached.server.requests, by: \.path).mapValues(\.count)
            #expect(counts.count == keys && counts.values.allSatisfy { $0 == 2 }, "\(counts)")
        }
    }

    // MARK: Priorities

    @Test func theLevelOfAFlightIsThatOfTheMostUrgentWhoIsLeft() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", fresh("a").stalling(.beforeHead))
            let run = cached.wire.get().start()
            try await cached.server.waitForStalls()
            let coalescer = RequestCoalescer<CacheKey, Never>()
            let key = try #require(cached.cache.strategy(.standard).key(for: CacheRequest(url: "http://example.test/")))
            #expect(coalescer.lead(key, run.core))
            let level = { run.core.followersLevel.load(ordering: .sequentiallyConsistent) }
            var seen: [UInt8] = []
            let priorities: [Priority] = [.low, .veryHigh, .normal, .veryHigh, .veryLow]
            for (index, priority) in priorities.enumerated() {
                #expect(coalescer.follow(key, UInt64(index), priority) { _ in })
                seen.append(level())
            }
            #expect(seen == [1, 4, 4, 4, 4])
            seen = []
            // The last one leaves twice.
            for id: UInt64 in [1, 0, 3, 2, 4, 4] {
                coalescer.leave(key, id)
                seen.append(level())
            }
            #expect(seen == [4, 4, 2, 0, 0, 0])
            #expect(coalescer.followerCount == 0)
            coalescer.end(ledBy: run.core.id)
            run.cancel()
            cached.server.releaseStalls()
            await cached.wire.agent.waitUntilIdle()
        }
    }

    /// One connection, and what waits for it: the flight goes before others as soon as somebody in a hurry waits for it, too.
    @Test(arguments: [false, true]) func aFlightHasTheHighestPriorityOfThoseWhoWaitForIt(staysInHurry: Bool) async throws {
        try await withCache {
            $0.limits.perHost = 1
        } _: { cached async throws in
            cached.server.on("/slow", .ok("x").stalling(.beforeHead))
            for path in ["/shared", "/other"] { cached.server.on(path, fresh(path)) }
            let admission = cached.wire.session.admission
            let slow = cached.wire.get("/slow") { $0.cache = .off }.start()
            try await cached.server.waitForStalls()
            let leader = cached.wire.get("/shared") { $0.priority = .low }.start()
            while admission.waitingCount < 1 { await Task.yield() }
            let other = cached.wire.get("/other") { $0.priority = .normal }.start()
            while admission.waitingCount < 2 { await Task.yield() }
            let follower = cached.wire.get("/shared") { $0.priority = .high }.start()
            await cached.untilFollowed()
            if !staysInHurry { follower.cancel() }
            cached.server.releaseStalls()
            await cached.wire.agent.waitUntilIdle()
            let last = staysInHurry ? ["/shared", "/other"] : ["/other", "/shared"]
            #expect(cached.server.requests.map(\.path) == ["/slow"] + last)
            withExtendedLifetime((slow, leader, other)) {}
        }
    }
}
