import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import SystemSupport
import Testing

@testable import ScopedNet

@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1))) struct TokenSourceTests {
    private struct Down: Error {}

    /// Takes `new` and nothing else, and refuses when so many have come.
    private func withDoor(refusingAfter count: Int = 0, _ body: (Wire) async throws -> Void) async throws {
        try await withWire {
            $0.limits.perHost = 100
            $0.limits.total = 100
        } _: { wire async throws in
            let server = wire.server
            server.on("/*") { request in
                if request["authorization"] == "Bearer new" { return .ok("in") }
                try? await server.waitForRequests(count)
                return .status(401).header("WWW-Authenticate", "Bearer error=\"invalid_token\"")
            }
            try await body(wire)
        }
    }

    private func waitForWaiters(_ tokens: TokenSource, _ count: Int) async {
        while tokens.waiterCount < count { await Task.yield() }
    }

    private func authorizations(_ wire: Wire, _ value: String?) -> Int { wire.server.requests.count { $0["authorization"] == value } }

    private func sendMany(_ wire: Wire, _ tokens: TokenSource, _ count: Int) async -> [Result<Response<Data>, NetworkError>] {
        await withTaskGroup(of: Result<Response<Data>, NetworkError>.self) { group in
            for number in 0..<count {
                group.addTask { await wire.get("/\(number)") { $0.authentication = .tokens(tokens) }.outcome() }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    /// 100 refusals at once: one renewal, and each is sent once more.
    @Test func oneRenewalForAHundredRefusals() async throws {
        try await withDoor(refusingAfter: 100) { wire async throws in
            let renewals = Counter()
            let everybody = Latch()
            let tokens = TokenSource("old") { refused in
                renewals.add()
                #expect(refused == "old")
                await everybody.wait()
                return "new"
            }
            async let sent = sendMany(wire, tokens, 100)
            await waitForWaiters(tokens, 100)
            everybody.open()
            let outcomes = await sent
            #expect(outcomes.allSatisfy { (try? $0.get().body) == Data("in".utf8) })
            #expect(renewals.value == 1)
            #expect(authorizations(wire, "Bearer old") == 100)
            #expect(authorizations(wire, "Bearer new") == 100)
            #expect(wire.server.requests.count == 200)
            #expect(tokens.token == "new")
        }
    }

    @Test func aFailureReachesEachOnceAndTheNextTriesAgain() async throws {
        try await withDoor(refusingAfter: 100) { wire async throws in
            let renewals = Counter()
            let isUp = Lock(false)
            let everybody = Latch()
            let tokens = TokenSource("old") { _ in
                renewals.add()
                guard !isUp.withLock({ $0 }) else { return "new" }
                await everybody.wait()
                throw Down()
            }
            async let sent = sendMany(wire, tokens, 100)
            await waitForWaiters(tokens, 100)
            everybody.open()
            let errors = await sent.compactMap { outcome -> NetworkError? in
                if case .failure(let error) = outcome { error } else { nil }
            }
            #expect(errors.count == 100)
            #expect(errors.allSatisfy { $0.code == .authenticationFailed && $0.underlying is Down && $0.response?.status == 401 })
            #expect(Set(errors.map(\.runID)).count == 100)
            #expect(renewals.value == 1)
            #expect(wire.server.requests.count == 100)
            isUp.withLock { $0 = true }
            let next = await sendMany(wire, tokens, 1)
            #expect(next.allSatisfy { (try? $0.get()) != nil })
            #expect(renewals.value == 2)
        }
    }

    /// No token yet: it is fetched before anything is sent.
    @Test func theFirstTokenComesBeforeTheFirstRequest() async throws {
        try await withDoor { wire async throws in
            let asked = Gathered<String?>()
            let tokens = TokenSource { refused in
                asked.add(refused)
                return "new"
            }
            let outcomes = await sendMany(wire, tokens, 10)
            #expect(outcomes.allSatisfy { (try? $0.get()) != nil })
            #expect(asked.all == [nil])
            #expect(wire.server.requests.count == 10)
            let failing = TokenSource { _ in throw Down() }
            let error = try await wire.get { $0.authentication = .tokens(failing) }.failure()
            #expect(error.code == .authenticationFailed)
            #expect(wire.server.requests.count == 10)
        }
    }

    /// Refused with a token that another has replaced meanwhile: the newer one, without a renewal.
    @Test func whoCarriedAnOldOneGetsTheNewerOne() async throws {
        try await withWire { wire async throws in
            let tokens = TokenSource("old") { _ in
                Issue.record("nobody needs another")
                throw Down()
            }
            wire.server.on("/*") { request in
                if request["authorization"] == "Bearer new" { return .ok("in") }
                tokens.set("new")
                return .status(401)
            }
            #expect(try await wire.get { $0.authentication = .tokens(tokens) }.response().body == Data("in".utf8))
            #expect(wire.server.requests.count == 2)
        }
    }

    @Test func aRefusalOfTheNewOneIsTheResult() async throws {
        try await withWire { wire async throws in
            wire.server.on("/*", .status(401).header("WWW-Authenticate", "Bearer"))
            let renewals = Counter()
            let tokens = TokenSource("0") { _ in
                renewals.add()
                return "\(renewals.value)"
            }
            #expect(try await wire.get { $0.authentication = .tokens(tokens) }.failure().response?.status == 401)
            #expect(renewals.value == 1)
            #expect(wire.server.requests.count == 2)
        }
    }

    /// The renewal goes on for the others, and is cancelled when the last one has left.
    @Test func aBagThatDiesDuringARenewal() async throws {
        try await withDoor { wire async throws in
            let trace = Trace()
            let began = Latch()
            let ended = Latch()
            let tokens = TokenSource("old") { _ in
                began.open()
                defer { ended.open() }
                try await Task.sleep(for: .seconds(60))
                return "new"
            }
            let bag = DeallocBag()
            let other = DeallocBag()
            for bag in [bag, other] {
                wire.get("/a") { $0.authentication = .tokens(tokens) }.onSuccess { _ in trace.add("success") }
                    .onFailure { _ in trace.add("failure") }.onEnd { trace.add("end \($0.isCancelled)") }.start(in: bag)
            }
            await began.wait()
            await waitForWaiters(tokens, 2)
            bag.end()
            await trace.wait(for: 1)
            while tokens.waiterCount > 1 { await Task.yield() }
            #expect(!ended.isOpen)
            other.end()
            await trace.wait(for: 2)
            await ended.wait()
            #expect(trace.lines == ["end true", "end true"])
            #expect(authorizations(wire, "Bearer new") == 0)
        }
    }

    /// G5: before the first exchange, too.
    @Test func aCancelBeforeTheFirstTokenSendsNothing() async throws {
        try await withDoor { wire async throws in
            let began = Latch()
            let tokens = TokenSource { _ in
                began.open()
                try await Task.sleep(for: .seconds(60))
                return "new"
            }
            let trace = Trace()
            let run = wire.get("/a") { $0.authentication = .tokens(tokens) }.onFailure { _ in trace.add("failure") }
                .onEnd { trace.add("end \($0.isCancelled)") }.start()
            await began.wait()
            #expect(run.cancel() == .cancelled)
            await trace.wait(for: 1)
            #expect(trace.lines == ["end true"])
            #expect(wire.server.requests.isEmpty)
        }
    }

    @Test func theTotalTimeGoesOnWhileTheFirstTokenIsMade() async throws {
        try await withDoor { wire async throws in
            let tokens = TokenSource { _ in
                try await Task.sleep(for: .seconds(60))
                return "new"
            }
            let request = wire.get("/a") {
                $0.authentication = .tokens(tokens)
                $0.timeouts.total = .milliseconds(200)
            }
            #expect(try await request.failure().code == .totalTimeout)
            #expect(wire.server.requests.isEmpty)
        }
    }

    /// The closure may use a session whose requests carry the same source's tokens.
    @Test func aRenewalDoesNotWaitForItself() async throws {
        try await withWire { wire async throws in
            wire.server.on("/token", .ok("new"))
            wire.server.on("/a") { $0["authorization"] == "Bearer new" ? .ok("in") : .status(401) }
            let session = Lock<Session?>(nil)
            let url = wire.url
            let tokens = TokenSource { _ in
                guard let session = session.withLock({ $0 }) else { throw Down() }
                return String(decoding: try await session.send(url + "/token").body, as: UTF8.self)
            }
            let mine = wire.session.with { $0.options.authentication = .tokens(tokens) }
            session.withLock { $0 = mine }
            #expect(try await mine.send(wire.url + "/a").body == Data("in".utf8))
            #expect(wire.server.requests.map { $0["authorization"] } == [nil, "Bearer new"])
            // The closure holds the session, and the session the closure.
            session.withLock { $0 = nil }
        }
    }

    @Test func aCancelledTaskStopsWaiting() async throws {
        let began = Latch()
        let tokens = TokenSource { _ in
            began.open()
            try await Task.sleep(for: .seconds(60))
            return "late"
        }
        let task = Task { () async -> NetworkError.Code? in
            do throws(NetworkError) {
                _ = try await tokens.token()
                return nil
            } catch { return error.code }
        }
        await began.wait()
        task.cancel()
        #expect(await task.value == .cancelled)
        tokens.set("mine")
        #expect(try await tokens.token() == "mine")
        #expect(tokens.token == "mine")
    }

    @Test func signingInAndOutEndsTheWait() async throws {
        let began = Counter()
        let latch = Latch()
        let tokens = TokenSource { _ in
            began.add()
            latch.open()
            try await Task.sleep(for: .seconds(60))
            return "late"
        }
        async let first = tokens.token()
        await latch.wait()
        tokens.set("mine")
        #expect(try await first == "mine")
        let waiting = Task { () async -> NetworkError.Code? in
            do throws(NetworkError) {
                _ = try await tokens.token(insteadOf: "mine")
                return nil
            } catch { return error.code }
        }
        while began.value < 2 { await Task.yield() }
        tokens.set(nil)
        #expect(await waiting.value == .authenticationFailed)
    }
}
