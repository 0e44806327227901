import CleanSlate
import Foundation
import HTTPTypes
import Persistence
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// Requests through the cache, over real sockets and a real database.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct CacheWireTests {
    // YTK-14
    @Test func aFreshResponseIsAskedForOnce() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", fresh("a"))
            let first = try await cached.get()
            #expect(first.source == .network)
            #expect(first.cacheStatus?.description == "ScopedNet; fwd=uri-miss; fwd-status=200; stored")
            cached.clock.advance(10)
            let second = try await cached.get()
            #expect(second.source == .cache)
            #expect(second.body == Data("a".utf8))
            #expect(second.head["age"] == "10")
            #expect(second.cacheStatus?.isHit == true)
            #expect(cached.server.requests.count == 1)
            #expect(cached.cache.statistics.hits == 1 && cached.cache.statistics.misses == 1)
            #expect(cached.cache.statistics.hitRate == 0.5)
        }
    }

    @Test func whatIsStaleIsValidated() async throws {
        try await withCache { cached async throws in
            cached.server.enqueue(fresh("a", tag: "\"1\""))
            cached.server.enqueue(
                ScriptedResponse.status(304).header("Cache-Control", "max-age=60").header("ETag", "\"1\"").header("X-New", "yes"))
            _ = try await cached.get()
            cached.clock.advance(100)
            let second = try await cached.get()
            #expect(second.source == .validatedCache)
            #expect(second.status == 200)
            #expect(second.body == Data("a".utf8))
            #expect(second.head["x-new"] == "yes")
            #expect(cached.server.requests[1]["if-none-match"] == "\"1\"")
            // Fresh again.
            #expect(try await cached.get().source == .cache)
            #expect(cached.server.requests.count == 2)
        }
    }

    @Test func whatMustNotBeStoredIsNot() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", ScriptedResponse.ok("a").header("Cache-Control", "no-store, max-age=60"))
            _ = try await cached.get()
            #expect(try await cached.get().source == .network)
        }
    }

    // Defect 31
    @Test func anotherProcessFindsItOnDisk() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/cache-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for round in 0..<2 {
            let cache = ResponseCache(StoreConfiguration(directory: folder))
            try await withWire {
                $0.cache = cache
                $0.options.cache.customKey = CachePolicy.CustomKey("path") { _, url in
                    String(url.drop { $0 != "/" }.dropFirst(2).drop { $0 != "/" })
                }
            } _: { wire async throws in
                wire.server.on("/", fresh("a"))
                let response = try await wire.send()
                #expect(response.source == (round == 0 ? .network : .cache))
                #expect(response.body == Data("a".utf8))
            }
            await cache.store.close()
        }
    }

    @Test func aLargeBodyIsAFileAndServedFromIt() async throws {
        try await withCache { cached async throws in
            let body = bytes(3 << 20)
            cached.server.on("/", ScriptedResponse.ok(.bytes(Array(body))).header("Cache-Control", "max-age=60"))
            _ = try await cached.get()
            try await cached.cache.flush()
            let second = try await cached.get()
            #expect(second.source == .cache)
            #expect(second.body.isSame(as: body))
        }
    }

    // SES-11, YB-11
    @Test func codedBodiesAreStoredAsTheyCameAndDecodedAgain() async throws {
        try await withCache { cached async throws in
            let coded = try #require(Data(base64Encoded: "H4sIAAAAAAACA0tMHAWjYBQMdwAAA9o4mugDAAA="))
            cached.server.on(
                "/", ScriptedResponse.ok(.bytes(Array(coded))).header("Cache-Control", "max-age=60").header("Content-Encoding", "gzip"))
            let first = try await cached.get().body
            let second = try await cached.get()
            #expect(second.source == .cache)
            #expect(second.body.isSame(as: first))
            #expect(first == Data(repeating: UInt8(ascii: "a"), count: 1000))
        }
    }

    @Test func unsafeMethodsThrowAway() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", fresh("a"))
            _ = try await cached.get()
            _ = try await cached.wire.send("/", method: "POST", body: .data(Data("x".utf8)))
            #expect(try await cached.get().source == .network)
        }
    }

    // Defect 29
    @Test func variantsLiveSideBySide() async throws {
        try await withCache { cached async throws in
            cached.server.on("/") { request in
                ScriptedResponse.ok(request["accept-language"] ?? "none").header("Cache-Control", "max-age=60").header(
                    "Vary", "Accept-Language")
            }
            func get(_ language: String) async throws -> Response<Data> {
                try await cached.wire.session.request(cached.server.url + "/", headers: [.acceptLanguage: language]).response()
            }
            for language in ["de", "fr"] { #expect(try await get(language).source == .network) }
            for language in ["de", "fr"] {
                let response = try await get(language)
                #expect(response.source == .cache)
                #expect(response.body == Data(language.utf8))
            }
        }
    }

    @Test func staleIsServedWhileItIsRefreshedOnce() async throws {
        try await withCache { cached async throws in
            cached.server.enqueue(ScriptedResponse.ok("old").header("Cache-Control", "max-age=1, stale-while-revalidate=60"))
            cached.server.on("/", fresh("new"))
            _ = try await cached.get()
            cached.clock.advance(10)
            try await withThrowingTaskGroup(of: Data.self) { group in
                for _ in 0..<20 { group.addTask { try await cached.get().body } }
                for try await body in group { #expect(["old", "new"].contains(String(decoding: body, as: UTF8.self))) }
            }
            await cached.wire.agent.waitUntilIdle()
            #expect(cached.server.requests.count == 2)
            let last = try await cached.get()
            #expect(last.source == .cache)
            #expect(last.body == Data("new".utf8))
        }
    }

    @Test func staleIsServedWhenTheServerIsGone() async throws {
        try await withCache { cached async throws in
            cached.server.enqueue(fresh("a", 1))
            cached.server.on("/", .failing)
            _ = try await cached.get()
            cached.clock.advance(10)
            let second = try await cached.get()
            #expect(second.source == .cache)
            #expect(second.body == Data("a".utf8))
        }
    }

    /// The server has not said that it is still right.
    @Test func staleInPlaceOfAnErrorIsNotValidated() async throws {
        try await withCache { cached async throws in
            cached.server.enqueue(
                ScriptedResponse.ok("a").header("Cache-Control", "max-age=1, stale-if-error=60").header("ETag", "\"1\""))
            cached.server.on("/", .status(503))
            _ = try await cached.get()
            cached.clock.advance(10)
            let second = try await cached.get()
            #expect(cached.server.requests.count == 2)
            #expect(second.source == .cache)
            #expect(second.body == Data("a".utf8))
            #expect(cached.cache.statistics.validated == 0 && cached.cache.statistics.hits == 1)
        }
    }

    @Test func aDecoderThatWantsNoBodyReadsNoneOfWhatIsStored() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", fresh("0123456789"))
            _ = try await cached.get()
            let response = try await cached.wire.session.request(cached.server.url + "/", decoder: .head)
                .options { $0.limits.bodyBytes = 4 }.response()
            #expect(response.source == .cache)
            #expect(response.value.status == 200)
            #expect(response.body.isEmpty)
            #expect(cached.cache.statistics.bytesSaved == 0)
        }
    }

    @Test func whatMustBeValidatedIsNotServedWithoutTheServer() async throws {
        try await withCache { cached async throws in
            cached.server.enqueue(ScriptedResponse.ok("a").header("Cache-Control", "max-age=1, must-revalidate"))
            cached.server.on("/", .failing)
            _ = try await cached.get()
            cached.clock.advance(10)
            let error = try await cached.wire.get().failure()
            #expect(error.code == .connectionLost && error.response == nil)
        }
    }

    @Test func onlyWhatIsStored() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", fresh("a"))
            let error = try await cached.wire.get("/") { $0.cache.read = .only }.failure()
            #expect(error.code == .notInCache && error.response == nil && !error.mayHaveReachedServer)
            #expect("\(error)".hasSuffix(": notInCache: nothing stored may be used, and the server must not be asked"))
            _ = try await cached.get()
            #expect(try await cached.get("/") { $0.cache.read = .only }.source == .cache)
            #expect(cached.server.requests.count == 1)
            // Without a cache nothing is stored, and the network is not used either.
            let uncached = cached.wire.session.with { $0.cache = nil }
            let nothing = try await uncached.get(cached.server.url + "/").cache(.only).failure()
            #expect(nothing.code == .notInCache && cached.server.requests.count == 1)
        }
    }

    /// The response of the hop before is none of the error's.
    @Test func aStoredRedirectToSomethingThatIsNotStored() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", ScriptedResponse.redirect(to: "/b", status: 301).header("Cache-Control", "max-age=60"))
            cached.server.on("/b", ScriptedResponse.ok("b").header("Cache-Control", "no-store"))
            _ = try await cached.get()
            let error = try await cached.wire.get("/") { $0.cache.read = .only }.failure()
            #expect(error.code == .notInCache && error.response == nil && error.body == nil)
        }
    }

    // YTK-14
    @Test func firstTheStoredValueThenTheServers() async throws {
        try await withCache { cached async throws in
            cached.server.enqueue(fresh("old"))
            cached.server.enqueue(fresh("new"))
            _ = try await cached.get()
            let trace = Trace()
            cached.wire.get("/") { $0.cache.read = .thenNetwork }
                .onCached { trace.add("cached " + String(decoding: $0, as: UTF8.self)) }
                .onSuccess { trace.add("success " + String(decoding: $0, as: UTF8.self)) }
                .onEnd { trace.add("\($0)") }
                .start()
            await cached.wire.agent.waitUntilIdle()
            #expect(Array(trace.lines.prefix(2)) == ["cached old", "success new"])
            #expect(trace.lines.count == 3)
        }
    }

    @Test func redirectsAreCachedHopByHop() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", ScriptedResponse.redirect(to: "/b", status: 301).header("Cache-Control", "max-age=60"))
            cached.server.on("/b", fresh("b"))
            _ = try await cached.get()
            let second = try await cached.get()
            #expect(second.source == .cache)
            #expect(second.body == Data("b".utf8))
            #expect(second.url.hasSuffix("/b"))
            #expect(cached.server.requests.count == 2)
        }
    }

    // SES-11, YB-11
    @Test func whatTheProgramDoesNotLikeIsNotStored() async throws {
        try await withCache {
            $0.options.hooks.shouldCache = { value, _ in (value as? Data)?.isEmpty == false && (value as? Data) != Data("error".utf8) }
        } _: { cached async throws in
            cached.server.enqueue(fresh("error"))
            cached.server.on("/", fresh("good"))
            _ = try await cached.get()
            #expect(try await cached.get().source == .network)
            #expect(try await cached.get().source == .cache)
        }
    }

    @Test func aDownloadIsStoredAndServedToAFile() async throws {
        try await withCache { cached async throws in
            let body = bytes(300_000)
            cached.server.on("/", ScriptedResponse.ok(.bytes(Array(body))).header("Cache-Control", "max-age=60"))
            let folder = FileManager.default.temporaryDirectory.path + "/downloads-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            for name in ["a", "b"] {
                _ = try await cached.wire.session.download(cached.server.url + "/", to: URL(fileURLWithPath: "\(folder)/\(name)"))
                    .response()
                #expect(FileManager.default.contents(atPath: "\(folder)/\(name)")?.isSame(as: body) == true)
            }
            #expect(cached.server.requests.count == 1)
        }
    }

    @Test func aBrokenOffBodyIsCompletedFromWhereItBroke() async throws {
        try await withCache { cached async throws in
            let text = "0123456789"
            cached.server.enqueue(
                ScriptedResponse.ok(text).header("Cache-Control", "max-age=60").header("ETag", "\"1\"").header("Accept-Ranges", "bytes")
                    .ending(.truncate(afterBytes: 4)))
            cached.server.enqueue(
                ScriptedResponse.ok("456789").with { $0.status = 206 }.header("Content-Range", "bytes 4-9/10").header("ETag", "\"1\"")
                    .header("Cache-Control", "max-age=60"))
            _ = try await cached.wire.get().failure()
            let second = try await cached.get()
            #expect(second.body == Data(text.utf8))
            #expect(second.status == 200)
            #expect(cached.server.requests.last?["range"] == "bytes=4-")
            #expect(try await cached.get().source == .cache)
        }
    }

    /// Nothing is delivered before the bag has ended: the queue stands still.
    @Test func aHitThatIsNotYetDeliveredLosesToTheBagsEnd() async throws {
        let queue = DispatchQueue(label: "still")
        try await withCache {
            $0.deliveryQueue = queue
        } _: { cached async throws in
            cached.server.on("/", fresh("a"))
            _ = try await cached.get()
            let bag = DeallocBag()
            let trace = Trace()
            queue.suspend()
            cached.wire.get().onSuccess { _ in trace.add("success") }.onEnd { _ in trace.add("end") }.start(in: bag)
            bag.end()
            queue.resume()
            await cached.wire.agent.waitUntilIdle()
            #expect(trace.lines == ["end"])
        }
    }

    // MARK: One flight for each key

    private func slow(_ text: String) -> ScriptedResponse { fresh(text).stalling(.afterBytes(1)) }

    @Test func manyAskAndOneRequestGoesOut() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", slow("shared"))
            async let first = cached.get()
            try await cached.server.waitForStalls()
            try await withThrowingTaskGroup(of: Response<Data>.self) { group in
                for _ in 0..<30 { group.addTask { try await cached.get() } }
                await cached.untilFollowed(by: 30)
                cached.server.releaseStalls()
                for try await response in group {
                    #expect(response.body == Data("shared".utf8))
                    #expect(response.source == .cache)
                    #expect(response.cacheStatus?.isCollapsed == true)
                }
            }
            _ = try await first
            #expect(cached.server.requests.count == 1)
        }
    }

    @Test func whatCannotBeSharedSendsEverybodyHimself() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", ScriptedResponse.ok("mine").header("Cache-Control", "no-store").stalling(.afterBytes(1)))
            async let first = cached.get()
            try await cached.server.waitForStalls()
            // The head is there already: nobody waits for the body.
            async let second = cached.get()
            try await cached.server.waitForStalls(2)
            cached.server.releaseStalls()
            _ = try await (first, second)
            #expect(cached.server.requests.count == 2)
        }
    }

    @Test func theLeadersEndDisturbsNobody() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", slow("shared"))
            let trace = Trace()
            var bag: DeallocBag? = DeallocBag()
            if let bag { cached.wire.get().onSuccess { _ in trace.add("success") }.onEnd { _ in trace.add("end") }.start(in: bag) }
            try await cached.server.waitForStalls()
            async let follower = cached.get()
            await cached.untilFollowed()
            bag = nil
            await trace.wait(for: 1)
            #expect(trace.lines == ["end"])
            cached.server.releaseStalls()
            #expect(try await follower.body == Data("shared".utf8))
            #expect(cached.server.requests.count == 1)
            await cached.wire.agent.waitUntilIdle()
            #expect(trace.lines == ["end"])
        }
    }

    @Test func theLastOneLeavingStopsTheTransfer() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", slow("shared"))
            let leader = cached.wire.get().start()
            try await cached.server.waitForStalls()
            let follower = cached.wire.get().start()
            await cached.untilFollowed()
            leader.cancel()
            follower.cancel()
            await cached.wire.agent.waitUntilIdle()
            try await cached.server.waitForOpenConnections { $0 == 0 }
            cached.server.releaseStalls()
            // And the next one starts afresh.
            cached.server.on("/", fresh("new"))
            #expect(try await cached.get().body == Data("new".utf8))
        }
    }

    @Test func aFollowersEndDisturbsNobody() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", slow("shared"))
            async let leader = cached.get()
            try await cached.server.waitForStalls()
            let follower = cached.wire.get().start()
            await cached.untilFollowed()
            follower.cancel()
            cached.server.releaseStalls()
            #expect(try await leader.body == Data("shared".utf8))
        }
    }

    @Test func aFailedLeaderLetsTheOthersTry() async throws {
        try await withCache { cached async throws in
            cached.server.enqueue(.failing)
            cached.server.on("/", fresh("good"))
            let outcomes = await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<10 { group.addTask { (try? await cached.get().body) == Data("good".utf8) } }
                return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(outcomes >= 9)
        }
    }

    @Test func aSuspendedLeaderDoesNotHoldItsFollowers() async throws {
        try await withCache {
            $0.options.timeouts.firstByte = nil
            $0.options.timeouts.idle = nil
        } _: { cached async throws in
            cached.server.enqueue(slow("shared"))
            cached.server.on("/", fresh("own"))
            let leader = cached.wire.get().start()
            try await cached.server.waitForStalls()
            async let follower = cached.get()
            await cached.untilFollowed()
            leader.suspend()
            #expect(try await follower.body == Data("own".utf8))
            leader.cancel()
            cached.server.releaseStalls()
        }
    }
}
