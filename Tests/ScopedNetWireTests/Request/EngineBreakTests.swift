import CleanSlate
import Foundation
import Glibc
import HTTPTypes
import Persistence
import ScopedNetTestServer
@_spi(Transport) import ScopedNetTesting
import SystemSupport
import Testing

@_spi(Transport) @testable import ScopedNet

/// Attacks on single places of the run engine that looked weak. Each of them is a public call at an awkward moment.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(5)))
struct EngineBreakTests {
    /// Polls: what is waited for here is counted from outside, and no event tells of it.
    private func comes(within seconds: Double = 30, _ isThere: () -> Bool) async -> Bool {
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
            if isThere() { return true }
            try? await Task.sleep(for: .milliseconds(2))
        }
        return isThere()
    }

    // MARK: Suspended in the queue

    /// A queue timer of a run that was parked meanwhile is not the one of its next wait.
    @Test func theQueueTimeBeginsAnewAfterParking() async throws {
        let clock = ManualClock()
        try await withWire {
            $0.timing = clock
            $0.limits.perHost = 1
        } _: { wire async throws in
            wire.server.on("/*", ScriptedResponse.ok().stalling(.beforeHead))
            let first = wire.get("/first").start()
            try await wire.server.waitForStalls()
            let codes = Gathered<NetworkError.Code>()
            let victim = wire.get("/victim") { $0.timeouts.queue = .seconds(10) }.onFailure { codes.add($0.code) }.start()
            await clock.waitForTimers(1)
            clock.advance(by: .seconds(1))
            #expect(victim.suspend())
            first.cancel()
            #expect(await comes { wire.session.admission.activeCount == 0 && wire.session.admission.waitingCount == 0 })
            let timersWhileParked = clock.armedCount
            clock.advance(by: .seconds(8))
            let second = wire.get("/second").start()
            try await wire.server.waitForStalls(1)
            #expect(victim.resume())
            #expect(await comes { wire.session.admission.waitingCount == 1 })
            // It has waited for 1 s and for 2 s now, and was its owner's for 8.
            clock.advance(by: .seconds(2))
            // That nothing comes has no event; the mistake came at once.
            try await Task.sleep(for: .milliseconds(100))
            #expect(codes.all.isEmpty, "\(codes.all): no free connection for 10 s, it says, \(timersWhileParked) timers while parked")
            #expect(wire.session.admission.waitingCount == 1)
            victim.cancel()
            second.cancel()
            await wire.agent.waitUntilIdle()
            wire.server.releaseStalls()
        }
    }

    /// The run is resumed in the moment in which it is parked, and its host has asked to wait meanwhile.
    @Test func aResumptionWhileItIsParkedAndItsHostIsHeld() async throws {
        let ending = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let server = LoopbackServer()
            try await server.start()
            server.on("/victim", .ok())
            server.on("/holder") { _ in ScriptedResponse.status(429).header("Retry-After", "1").stalling(.beforeHead) }
            server.on("/other", ScriptedResponse.ok().stalling(.beforeHead))
            var configuration = Session.Configuration(agent: RequestAgent())
            configuration.proxy = .none
            configuration.limits.perHost = 2
            configuration.rateLimit = .init(requestsPerSecond: .infinity, longestHold: .milliseconds(20))
            let session = Session(configuration: configuration)
            // It took forty at most.
            let rounds = ProcessInfo.processInfo.environment["SCOPEDNET_SOAK"] == "1" ? 400 : 60
            for _ in 0..<rounds {
                let holder = session.request(server.url + "/holder").start()
                let other = session.request(server.url + "/other").start()
                try await server.waitForStalls(2)
                let before = session.request(server.url + "/victim").start()
                let victims = (0..<2).map { _ in session.request(server.url + "/victim").start() }
                let isOver = Counter()
                let threads = DispatchGroup()
                for victim in victims {
                    threads.enter()
                    Thread.detachNewThread {
                        while isOver.value == 0 {
                            victim.suspend()
                            victim.resume()
                        }
                        threads.leave()
                    }
                }
                server.releaseStalls()
                let end = ContinuousClock.now + .milliseconds(60)
                while ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(1)) }
                isOver.add()
                let isLeft = Lock(false)
                threads.notify(queue: .global()) { isLeft.withLock { $0 = true } }
                while !isLeft.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
                for victim in victims { victim.resume() }
                let late = ContinuousClock.now + .seconds(30)
                while session.agent.liveCount > 0 {
                    try await Task.sleep(for: .milliseconds(1))
                    if ContinuousClock.now > late { exit(3) }
                }
                _ = (holder, other, before)
            }
            await session.shutdown()
            await server.stop()
            exit(0)
        }
        if let text = ending?.standardErrorContent.prefix(1_000), !text.isEmpty { print(String(decoding: text, as: UTF8.self)) }
    }

    // MARK: Retry-After

    /// Documented: a 429 with `Retry-After` holds all further requests to that host. Also the one that has waited for the connection.
    @Test func theNextInTheQueueIsHeldToo() async throws {
        let clock = ManualClock()
        try await withWire {
            $0.timing = clock
            $0.rateLimit = .retryAfterOnly
            $0.limits.perHost = 1
        } _: { wire async throws in
            wire.server.on("/first", ScriptedResponse.status(429).header("Retry-After", "7").stalling(.beforeHead))
            wire.server.on("/next", .ok())
            let first = wire.get("/first").start()
            try await wire.server.waitForStalls()
            let next = wire.get("/next").start()
            #expect(wire.session.admission.waitingCount == 1)
            wire.server.releaseStalls()
            #expect(await comes { !first.status.isExecuting })
            // That nothing is sent has no event; the mistake was sent at once.
            try await Task.sleep(for: .milliseconds(200))
            #expect(wire.server.requests.map(\.path) == ["/first"], "sent although the host wants 7 s of silence")
            clock.advance(by: .seconds(7))
            await wire.agent.waitUntilIdle()
            _ = next
        }
    }

    @Test(arguments: ["99999999999999999999999", "-5", "abc", "", "1e9", "0", "Fri, 31 Dec 9999 23:59:59 GMT"])
    func strangeRetryAfter(_ value: String) async throws {
        try await withWire {
            $0.rateLimit = .init(requestsPerSecond: .infinity, longestHold: .milliseconds(10))
        } _: { wire async throws in
            wire.server.enqueue(ScriptedResponse.status(503).header("Retry-After", value), for: "/")
            wire.server.on("/", .ok("in"))
            for total in [Duration?.none, .seconds(2)] {
                wire.server.enqueue(ScriptedResponse.status(503).header("Retry-After", value), for: "/")
                let outcome = await wire.get {
                    $0.retry = RetryPolicy(maxAttempts: 3, backoffBase: .milliseconds(1), backoffCap: .milliseconds(2))
                    $0.timeouts.total = total
                }.outcome()
                if case .failure(let error) = outcome { #expect(error.status == 503) }
            }
        }
    }

    /// A hook may ask for any wait.
    @Test func endlessWaitsOfARetryHook() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .status(503))
            for wait in [Duration.seconds(Int64.max), .seconds(Int64.max / 1_000_000_000), .nanoseconds(Int64.max), .seconds(-1)] {
                for total in [Duration?.none, .seconds(Int64.max), .milliseconds(300)] {
                    let asked = Counter()
                    let ends = Counter()
                    let run = wire.get { $0.timeouts.total = total }.decideRetry { _ in
                        asked.add()
                        return asked.value < 3 ? .retry(after: wait) : .stop
                    }.onEnd { _ in ends.add() }.start()
                    #expect(await comes { asked.value > 0 })
                    try await Task.sleep(for: .milliseconds(5))
                    run.cancel()
                    await wire.agent.waitUntilIdle()
                    #expect(ends.value == 1)
                }
            }
        }
    }

    // MARK: One for all

    /// Others do not wait for what its owner holds up, whenever that was suspended.
    @Test func aRunThatWasSuspendedWhileItLookedLeadsNobody() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", fresh("shared"))
            // While the key is made: whether the disk is asked after that depends on how much of the store is known by then.
            let asked = Counter()
            let key = CachePolicy.CustomKey("path") { [agent = cached.wire.agent] _, url in
                if asked.value == 0 { _ = agent.liveRuns().first?.setSuspended(true) }
                asked.add()
                return url
            }
            let first = cached.wire.get("/") { $0.cache.customKey = key }.start()
            #expect(await comes { first.status.isSuspended })
            // The run is on its way to the coalescer, which tells nobody.
            try await Task.sleep(for: .milliseconds(50))
            let codes = Gathered<String>()
            let second = cached.wire.get("/") { $0.cache.customKey = key }.onSuccess { _ in codes.add("in") }
                .onFailure { codes.add("\($0.code)") }.start()
            let isServed = await comes(within: 20) { codes.all == ["in"] }
            #expect(isServed, "\(codes.all), \(cached.cache.coalescer.followerCount) wait for one who is suspended")
            first.resume()
            second.cancel()
            first.cancel()
            await cached.wire.agent.waitUntilIdle()
        }
    }

    /// A leader whose owner has gone works for the others only: a redirect that they do not share ends it.
    @Test(arguments: [false, true]) func aCancelledLeaderFollowsNoRedirectForNobody(isStored: Bool) async throws {
        try await withCache { cached async throws in
            let redirect = ScriptedResponse.redirect(to: "/target").header("Cache-Control", isStored ? "max-age=60" : "no-store")
            cached.server.enqueue(redirect.stalling(.beforeHead), for: "/")
            cached.server.on("/", redirect)
            cached.server.on("/target", fresh("there").stalling(.beforeHead))
            let leader = cached.wire.get().start()
            try await cached.server.waitForStalls()
            let follower = cached.wire.get().start()
            await cached.untilFollowed()
            leader.cancel()
            cached.server.releaseStalls()
            try await cached.server.waitForRequests(1, path: "/target")
            if !isStored { #expect(await comes { cached.server.requests.count { $0.path == "/" } == 2 }) }
            // That nothing more is sent has no event; the mistake was sent at once.
            try await Task.sleep(for: .milliseconds(300))
            #expect(cached.server.requests.count { $0.path == "/target" } == 1, "\(cached.server.requests.map(\.path))")
            follower.cancel()
            let isIdle = await comes(within: 20) { cached.wire.agent.liveCount == 0 }
            #expect(isIdle, "all are cancelled, and \(cached.server.requests.map(\.path)) was sent")
            let isSilent = await comes(within: 20) { cached.server.openConnections == 0 || cached.server.concurrentRequests == 0 }
            #expect(isSilent)
            cached.server.releaseStalls()
            await cached.wire.agent.waitUntilIdle()
        }
    }

    /// The same with an answer to a challenge.
    @Test func aCancelledLeaderAnswersNoChallengeForNobody() async throws {
        try await withCache { cached async throws in
            cached.server.enqueue(ScriptedResponse.status(401).header("WWW-Authenticate", "Bearer").stalling(.beforeHead), for: "/")
            cached.server.on("/", fresh("there").stalling(.beforeHead))
            let tokens = TokenSource("old") { _ in "new" }
            let leader = cached.wire.get { $0.authentication = .tokens(tokens) }.start()
            try await cached.server.waitForStalls()
            let follower = cached.wire.get { $0.authentication = .tokens(tokens) }.start()
            #expect(await comes { cached.cache.coalescer.followerCount == 1 })
            leader.cancel()
            cached.server.releaseStalls()
            try await Task.sleep(for: .milliseconds(200))
            follower.cancel()
            let isIdle = await comes(within: 20) { cached.wire.agent.liveCount == 0 }
            #expect(isIdle, "all are cancelled, and \(cached.server.requests.map(\.path)) was sent")
            cached.server.releaseStalls()
            await cached.wire.agent.waitUntilIdle()
        }
    }

    /// A follower waits no longer, and its leader's end is told to it late, as all threads that decode are busy: that is not the end of what it
    /// waits for now.
    @Test func theLeadersEndComesLate() async throws {
        let ending = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let (network, clock, folder) = (ManualConnectivity(isSatisfied: false), ManualClock(), TemporaryFolder())
            let transport = MockTransport(unanswered: .wait, endsCancelled: true)
            var configuration = Session.Configuration(customTransport: transport, agent: RequestAgent())
            configuration.connectivity = network.connectivity
            configuration.timing = clock
            let cache = ResponseCache(StoreConfiguration(directory: folder.path))
            configuration.cache = cache
            let session = Session(configuration: configuration)
            let url = "http://192.0.2.1/"
            session.request(url).start()
            await transport.waitForExchanges(1)
            let ends = Gathered<String>()
            session.request(url).options { $0.waitsForConnectivity = true }.onEnd { ends.add("\($0)") }.start()
            while cache.coalescer.followerCount < 1 { await Task.yield() }
            // Decoders that take their time.
            let (busy, gate) = (Counter(), DispatchSemaphore(value: 0))
            let width = max(2, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
            var before = 0
            while true {
                for _ in 0..<width {
                    WorkPool.shared.submit([
                        {
                            busy.add()
                            gate.wait()
                        }
                    ])
                }
                for _ in 0..<200 where busy.value < before + width { try await Task.sleep(for: .milliseconds(1)) }
                if busy.value == before + width { break }
                // Another test holds a thread of the pool until it gets a second one, and would for ever: all are given back, and taken once more.
                for _ in 0..<width { gate.signal() }
                while busy.value < before + width { try await Task.sleep(for: .milliseconds(1)) }
                before += width
            }
            transport.exchanges[0].fail(.connectionFailed)
            while cache.coalescer.followerCount > 0 { await Task.yield() }
            // It has waited as long as for a first byte, and asks for itself; there is no path.
            clock.advance(by: .seconds(61))
            await network.waitForWaiting(1)
            for _ in 0..<width { gate.signal() }
            // The late end runs in the pool, and what it does wrongly tells nobody.
            try await Task.sleep(for: .milliseconds(300))
            network.connect()
            let late = ContinuousClock.now + .seconds(30)
            while transport.exchanges.count < 2 {
                if ContinuousClock.now > late { exit(3) }
                try await Task.sleep(for: .milliseconds(1))
            }
            transport.exchanges[1].fail(.connectionFailed)
            while ends.all.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
            exit(ends.all.count == 1 && transport.exchanges.count == 2 ? 0 : 4)
        }
        if let text = ending?.standardErrorContent.prefix(1_000), !text.isEmpty { print(String(decoding: text, as: UTF8.self)) }
    }

    // MARK: Answers of hooks

    /// The total time is over in the moment in which the body becomes a file.
    @Test func aBodyBecomesAFileAsTheTimeIsOver() async throws {
        let folder = TemporaryFolder()
        var codes: [String: Int] = [:]
        try await withWire { wire async throws in
            wire.server.on("/", .ok(.repeating(7, count: 100)))
            for number in 0..<150 {
                let delay = Duration.microseconds(Int64(40_000 + number * 70))
                let name = "file\(number)"
                let file = URL(fileURLWithPath: folder.path + "/" + name)
                let ends = Counter()
                let outcome = Gathered<String>()
                wire.session.request(wire.url + "/", decoder: .dataOrFile).options { $0.timeouts.total = .milliseconds(50) }
                    .decideDisposition { _ in
                        try? await Task.sleep(for: delay)
                        return .download(to: file)
                    }.onSuccess { _ in outcome.add("success") }.onFailure { outcome.add("\($0.code)") }.onEnd { _ in ends.add() }.start()
                await wire.agent.waitUntilIdle()
                #expect(ends.value == 1 && outcome.all.count == 1)
                codes[outcome.all.first ?? "none", default: 0] += 1
                if outcome.all != ["success"] {
                    let isGone = await comes(within: 20) { !folder.names.contains { $0.contains(name) } }
                    #expect(isGone, "\(folder.names)")
                }
            }
        }
    }

    // MARK: Hostile servers

    /// Redirects to itself with challenges in between, a new token each time: it ends.
    @Test func aLoopOfRedirectsAndChallenges() async throws {
        try await withWire { wire async throws in
            let count = Counter()
            wire.server.on("/*") { _ in
                count.add()
                return count.value % 2 == 0
                    ? .redirect(to: "/\(count.value % 3)") : ScriptedResponse.status(401).header("WWW-Authenticate", "Bearer")
            }
            let number = Counter()
            let tokens = TokenSource("0") { _ in
                number.add()
                return "\(number.value)"
            }
            _ = try await wire.get { $0.authentication = .tokens(tokens) }.failure()
            #expect(count.value < 100)
        }
    }

    @Test func refusedForEverWithANewTokenEachTime() async throws {
        try await withWire { wire async throws in
            wire.server.on("/*", ScriptedResponse.status(401).header("WWW-Authenticate", "Bearer"))
            let number = Counter()
            let tokens = TokenSource("0") { _ in
                number.add()
                return "\(number.value)"
            }
            let error = try await wire.get {
                $0.authentication = .tokens(tokens)
                $0.retry = RetryPolicy(maxAttempts: 5, statusCodes: [401], backoffBase: .milliseconds(1), backoffCap: .milliseconds(1))
            }.failure()
            #expect(error.status == 401)
            #expect(wire.server.requests.count < 20, "\(wire.server.requests.count)")
        }
    }

    /// Answers that come for nothing that was asked.
    @Test func answersToQuestionsThatWereNotPut() async throws {
        try await withCache { cached async throws in
            cached.server.on("/304", .status(304))
            cached.server.on("/416", ScriptedResponse.status(416).header("Content-Range", "bytes */5"))
            cached.server.on("/206", ScriptedResponse.status(206).header("Content-Range", "bytes 5-9/10"))
            cached.server.on("/401", .status(401))
            let folder = TemporaryFolder()
            var codes: [String] = []
            for path in ["/304", "/416", "/206", "/401"] {
                for isDownload in [false, true] {
                    let code: String
                    if isDownload {
                        let file = URL(fileURLWithPath: folder.path + "/file")
                        let outcome = await cached.wire.session.download(cached.wire.url + path, to: file).options {
                            $0.downloads.resumes = true
                            $0.timeouts.total = .seconds(60)
                        }.outcome()
                        if case .failure(let error) = outcome { code = "\(error.code)" } else { code = "success" }
                    } else {
                        let outcome = await cached.wire.get(path) { $0.timeouts.total = .seconds(60) }.outcome()
                        if case .failure(let error) = outcome { code = "\(error.code)" } else { code = "success" }
                    }
                    codes.append(code)
                }
            }
            #expect(codes.count == 8 && !codes.contains("totalTimeout"), "\(codes)")
            #expect(cached.server.requests.count < 24, "\(cached.server.requests.map(\.path))")
        }
    }
}
