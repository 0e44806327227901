import CleanSlate
import ConformanceClient
import Foundation
import Glibc
import Persistence
import ScopedNetTestServer
import ScopedNetTesting
import SystemSupport
import TestProcesses
import Testing

@testable import ScopedNet

/// Where responses are kept, and in how many deliveries they come.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct CacheModeTests {
    /// Entries on disk, when everything that waits has been written.
    private func onDisk(_ cache: ResponseCache) async throws -> Int {
        try await cache.flush()
        return try await cache.store.list().count
    }

    @Test func memoryAloneNeverReachesTheDisk() async throws {
        try await withCache {
            $0.options.cache.write = .memory
        } store: {
            $0.limits.dirtyAge = .zero
        } _: { cached async throws in
            cached.server.enqueue(fresh("a", 5, tag: "\"1\""))
            cached.server.enqueue(ScriptedResponse.status(304).header("Cache-Control", "max-age=60").header("ETag", "\"1\""))
            _ = try await cached.get()
            let hit = try await cached.get()
            cached.clock.advance(10)
            let validated = try await cached.get()
            let again = try await cached.get()
            #expect([hit.source, validated.source, again.source] == [.cache, .validatedCache, .cache])
            let count = try await onDisk(cached.cache)
            #expect(count == 0)
            // Memory lets go of it, and then nobody has it.
            await cached.cache.store.relieveMemory()
            cached.server.on("/", fresh("b"))
            let after = try await cached.get()
            #expect(after.source == .network)
        }
    }

    @Test func diskAloneIsReadFromThere() async throws {
        try await withCache {
            $0.options.cache.write = .disk
        } _: { cached async throws in
            cached.server.on("/", fresh("a"))
            _ = try await cached.get()
            #expect(cached.cache.store.statistics().memoryKeys == 0)
            let early = try await cached.get()
            #expect(early.source == .cache)
            let count = try await onDisk(cached.cache)
            #expect(count == 1)
        }
    }

    /// The task that waits goes on where it is: nobody has to be woken.
    @Test func aHitFromMemoryNeedsNoOtherThread() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", fresh("a"))
            _ = try await cached.get()
            let threads = Lock<[pthread_t]>([])
            let driver = RaceDriver(cached.wire.session)
            driver.at(.delivering) { _ in threads.withLock { $0.append(pthread_self()) } }
            let here = pthread_self()
            let response = try await cached.get()
            let seen = threads.withLock { $0 }
            #expect(response.source == .cache && seen == [here])
            withExtendedLifetime(driver) {}
        }
    }

    /// A cancel that comes when the answer is there already, and not yet told.
    @Test func aHitFromMemoryLosesToACancelToo() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", fresh("a"))
            _ = try await cached.get()
            let driver = RaceDriver(cached.wire.session)
            driver.at(.beforeAdmission) { $0.cancel() }
            let error = await #expect(throws: NetworkError.self) { try await cached.get() }
            #expect(error?.isCancelled == true)
            withExtendedLifetime(driver) {}
            await cached.wire.agent.waitUntilIdle()
            #expect(try await cached.get().source == .cache)
        }
    }

    @Test func aMemoryVariantAndADiskVariantAnswerTogether() async throws {
        try await withCache { cached async throws in
            for language in ["de", "en"] {
                cached.server.enqueue(fresh(language).header("Vary", "Accept-Language"))
            }
            func get(_ language: String, _ mode: CachePolicy.WriteMode) async throws -> Response<Data> {
                let request = cached.wire.session.request(cached.server.url + "/", headers: [.acceptLanguage: language])
                return try await request.options { $0.cache.write = mode }.response()
            }
            _ = try await get("de", .both)
            try await cached.cache.flush()
            _ = try await get("en", .memory)
            let (one, other) = (try await get("de", .both), try await get("en", .both))
            #expect(one.source == .cache && one.body == Data("de".utf8))
            #expect(other.source == .cache && other.body == Data("en".utf8))
            let count = try await onDisk(cached.cache)
            #expect(count == 1)
        }
    }

    // MARK: Cached, then fresh

    @Test func theSequenceGivesTheStoredAndThenTheServers() async throws {
        try await withCache { cached async throws in
            cached.server.enqueue(fresh("old"))
            cached.server.enqueue(fresh("new"))
            _ = try await cached.get()
            var seen: [String] = []
            for try await response in cached.wire.get("/").cachedThenFresh() {
                seen.append("\(response.source) \(String(decoding: response.value, as: UTF8.self))")
            }
            #expect(seen == ["cache old", "network new"])
        }
    }

    @Test func withoutAnythingStoredThereIsOne() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", fresh("new"))
            var seen: [ResponseSource] = []
            for try await response in cached.wire.get("/").cachedThenFresh() { seen.append(response.source) }
            #expect(seen == [.network])
        }
    }

    @Test func theServersErrorComesAfterTheStoredOne() async throws {
        try await withCache {
            $0.options.cache.servesStaleWhenDisconnected = false
        } _: { cached async throws in
            cached.server.enqueue(fresh("old"))
            cached.server.on("/", .status(404))
            _ = try await cached.get()
            var seen: [ResponseSource] = []
            var failure: NetworkError?
            do throws(NetworkError) {
                for try await response in cached.wire.get("/").cachedThenFresh() { seen.append(response.source) }
            } catch { failure = error }
            #expect(seen == [.cache] && failure?.response?.status == 404)
        }
    }

    @Test func leavingTheLoopCancelsTheRequest() async throws {
        try await withCache { cached async throws in
            cached.server.enqueue(fresh("old"))
            cached.server.on("/", .ok("x").stalling(.beforeHead))
            _ = try await cached.get()
            for try await response in cached.wire.get("/").cachedThenFresh() {
                #expect(response.source == .cache)
                break
            }
            // It would stall for ever.
            await cached.wire.agent.waitUntilIdle()
            cached.server.releaseStalls()
        }
    }

    @Test func aCancelledTaskThrowsTheReason() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", .ok("x").stalling(.beforeHead))
            let task = Task { () -> NetworkError? in
                do throws(NetworkError) {
                    for try await _ in cached.wire.get("/").cachedThenFresh() {}
                    return nil
                } catch { return error }
            }
            try await cached.server.waitForStalls()
            task.cancel()
            let error = await task.value
            #expect(error?.isCancelled == true && error?.cancelReason == .taskCancelled)
            await cached.wire.agent.waitUntilIdle()
            cached.server.releaseStalls()
        }
    }

    // MARK: The process

    @Test func whatASignalEndsIsOnDisk() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/cache-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await withWire { _ in
        } _: { wire async throws in
            wire.server.on("/", fresh("a"))
            var order = ClientRequest(
                method: "GET", url: wire.server.url + "/", fields: [], body: nil, isReload: false, folder: folder, clock: folder + ".clock")
            order.endsBySignal = true
            let input = String(decoding: try JSONEncoder().encode(order), as: UTF8.self)
            let result = try await ProgramRun([product("ConformanceClient")], input: input).result()
            #expect(result.status == 128 + SIGTERM, "\(result)")
        }
        let store = try StoreInspector(directory: folder)
        let totals = try store.totals()
        #expect(totals.entries == 1)
    }

    @Test func optionsThatAreNotAskedForAreNotAtWork() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/cache-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let plain = ResponseCache(StoreConfiguration(directory: folder))
        #expect(plain.activeOptions == [])
        await plain.store.close()
        let yielding = ResponseCache(StoreConfiguration(directory: folder), options: .yieldsToMemoryPressure)
        #expect(yielding.activeOptions.isSubset(of: .yieldsToMemoryPressure))
        await yielding.store.close()
    }
}
