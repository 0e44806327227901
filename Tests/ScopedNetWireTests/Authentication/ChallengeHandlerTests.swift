import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import SystemSupport
import Testing

@testable import ScopedNet

/// SEC-7: the program is asked.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1))) struct ChallengeHandlerTests {
    private let ann = Credential.basic(user: "ann", password: "secret")

    private func withDoor(_ body: (Wire) async throws -> Void) async throws {
        try await withWire { wire async throws in
            wire.server.protect("/*", with: .basic(user: "ann", password: "secret", realm: "door"))
            wire.server.on("/*", .ok("in"))
            try await body(wire)
        }
    }

    @Test func itIsToldWhatThereIsToKnow() async throws {
        try await withDoor { wire async throws in
            let asked = Gathered<AuthenticationChallenge.Context>()
            let guesses = [Credential.basic(user: "ann", password: "1"), .basic(user: "ann", password: "2"), ann]
            let request = wire.get("/a") {
                $0.authentication = .handler { challenge in
                    asked.add(challenge)
                    return .use(guesses[challenge.previousFailureCount])
                }
            }
            #expect(try await request.response().body == Data("in".utf8))
            #expect(asked.all.map(\.previousFailureCount) == [0, 1, 2])
            let first = try #require(asked.all.first)
            #expect(first.space == (try ProtectionSpace(wire.url, realm: "door")))
            #expect(first.challenges.map(\.scheme) == ["basic"])
            #expect(first.response.status == 401)
            #expect(first.url == wire.url + "/a")
            #expect(first.method == .get)
            #expect(wire.server.requests.count == 4)
        }
    }

    @Test func aSessionsHandlerAnswersForItsRequests() async throws {
        try await withDoor { wire async throws in
            let credential = ann
            let session = wire.session.with { $0.options.authentication = .handler { _ in .use(credential) } }
            let body = try await session.send(wire.url + "/a").body
            #expect(body == Data("in".utf8))
        }
    }

    /// SEC-9: whatever the handler says, nothing goes round in circles.
    @Test func theSameAnswerIsNotSentTwice() async throws {
        try await withDoor { wire async throws in
            let asked = Counter()
            let error = try await wire.get {
                $0.authentication = .handler { _ in
                    asked.add()
                    return .use(.basic(user: "ann", password: "guess"))
                }
            }.failure()
            #expect(error.response?.status == 401)
            #expect(asked.value == 2)
            #expect(wire.server.requests.count == 2)
        }
    }

    @Test func newGuessesHaveABound() async throws {
        try await withDoor { wire async throws in
            let asked = Counter()
            let error = try await wire.get {
                $0.authentication = .handler { challenge in
                    asked.add()
                    return .use(.basic(user: "ann", password: "\(challenge.previousFailureCount)"))
                }
            }.failure()
            #expect(error.response?.status == 401)
            #expect(asked.value == 20)
            #expect(wire.server.requests.count == 21)
        }
    }

    @Test func itMayDeliverTheResponse() async throws {
        try await withWire { wire async throws in
            let page = String(repeating: "no ", count: 50_000)
            wire.server.on("/*", .ok(page).with { $0.status = 401 }.header("WWW-Authenticate", "Basic realm=\"r\""))
            let error = try await wire.get { $0.authentication = .handler { _ in .deliver } }.failure()
            #expect(error.code == .unacceptableStatus)
            #expect(error.body?.count == 64 << 10)
            // Where it is a success it is whole, and comes with its head.
            let heads = Counter()
            let request = wire.get {
                $0.authentication = .handler { _ in .deliver }
                $0.validation = .any
            }
            _ = request.onResponseHead { heads.add($0.status) }
            let response = try await request.response()
            #expect(response.head.status == 401)
            #expect(response.body.count == page.utf8.count)
            #expect(heads.value == 401)
            #expect(wire.server.requests.count == 2)
        }
    }

    @Test func itsErrorIsKept() async throws {
        struct NotToday: Error {}
        try await withDoor { wire async throws in
            let error = try await wire.get { $0.authentication = .handler { _ in .cancel(NotToday()) } }.failure()
            #expect(error.code == .authenticationFailed)
            #expect(error.underlying is NotToday)
            #expect(error.response?.status == 401)
        }
    }

    @Test func theDefaultIsTheStore() async throws {
        try await withDoor { wire async throws in
            let store = CredentialStore()
            store.set(ann, for: try ProtectionSpace(wire.url))
            let session = wire.session.with { $0.credentials = store }
            let request = session.request(wire.url + "/a").options { $0.authentication = .handler { _ in .performDefault } }
            #expect(try await request.response().body == Data("in".utf8))
            #expect(try await wire.get { $0.authentication = .handler { _ in .performDefault } }.failure().response?.status == 401)
        }
    }

    @Test func whatWasGoodMayBeKept() async throws {
        try await withDoor { wire async throws in
            let store = CredentialStore()
            let session = wire.session.with { $0.credentials = store }
            let asked = Counter()
            func send(_ credential: Credential) async throws -> Int {
                let request = session.request(wire.url + "/a").options {
                    $0.authentication = .handler { _ in
                        asked.add()
                        return .use(credential, keeps: true)
                    }
                }
                do throws(NetworkError) { return try await request.response().head.status } catch { return error.response?.status ?? 0 }
            }
            #expect(try await send(.basic(user: "ann", password: "guess")) == 401)
            #expect(store.spaces.isEmpty)
            #expect(try await send(ann) == 200)
            #expect(store.spaces == [try ProtectionSpace(wire.url, realm: "door")])
            let before = asked.value
            #expect(try await send(ann) == 200)
            #expect(asked.value == before)
        }
    }

    // MARK: Actors

    /// An actor whose jobs wait until they are let go.
    @globalActor private actor Held {
        static let shared = Held()
        static let executor = HeldExecutor()
        nonisolated var unownedExecutor: UnownedSerialExecutor { Self.executor.asUnownedSerialExecutor() }
    }

    private final class HeldExecutor: SerialExecutor {
        private let jobs = Lock<[UnownedJob]>([])
        let arrived = Latch()

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            jobs.withLock { $0.append(job) }
            arrived.open()
        }

        func release() {
            let held = jobs.withLock { jobs in
                defer { jobs = [] }
                return jobs
            }
            for job in held { job.runSynchronously(on: asUnownedSerialExecutor()) }
        }
    }

    /// G4: the cancel comes after the handler was sent to its actor, and before the actor got to it.
    @Test func aCancelBeforeItsActorGotToItKeepsItFromBeingAsked() async throws {
        try await withDoor { wire async throws in
            let trace = Trace()
            let run = wire.session.request(wire.url + "/a").options {
                $0.authentication = .handler { @Held _ in
                    trace.add("asked")
                    return .deliver
                }
            }.onEnd { trace.add("\($0)") }.start()
            await Held.executor.arrived.wait()
            #expect(run.cancel() == .cancelled)
            Held.executor.release()
            await wire.agent.waitUntilIdle()
            #expect(trace.lines == ["cancelled(explicit)"])
        }
    }

    // MARK: Owners

    private final class Owner: Sendable {
        let credential: Credential
        init(_ credential: Credential) { self.credential = credential }
    }

    @Test func anOwnerIsAskedAndNotKept() async throws {
        try await withDoor { wire async throws in
            var owner: Owner? = Owner(ann)
            weak let weakOwner = owner
            var options = RequestOptions()
            options.authentication = .handler(for: try #require(owner)) { owner, _ in .use(owner.credential) }
            let authentication = options.authentication
            #expect(try await wire.get { $0.authentication = authentication }.response().body == Data("in".utf8))
            await wire.agent.waitUntilIdle()
            owner = nil
            #expect(weakOwner == nil)
            // Gone: as without a handler.
            #expect(try await wire.get { $0.authentication = authentication }.failure().response?.status == 401)
        }
    }

    // MARK: Ends

    /// G5: a cancel while the program is asked.
    @Test func aCancelWhileItIsAskedEndsBoth() async throws {
        try await withDoor { wire async throws in
            let trace = Trace()
            let asked = Latch()
            let bag = DeallocBag()
            wire.get("/a") {
                $0.authentication = .handler { [ann] _ in
                    asked.open()
                    try? await Task.sleep(for: .seconds(60))
                    trace.add("asked \(Task.isCancelled)")
                    return .use(ann)
                }
            }.onSuccess { _ in trace.add("success") }.onFailure { _ in trace.add("failure") }.onEnd { trace.add("end \($0.isCancelled)") }
                .start(
                    in: bag)
            await asked.wait()
            bag.end()
            await trace.wait(for: 2)
            #expect(Set(trace.lines) == ["asked true", "end true"])
            #expect(wire.server.requests.count == 1)
        }
    }

    /// G5: a cancel at the step before.
    @Test func nothingFollowsACancelAtTheDecision() async throws {
        for authentication in [Authentication.credential(ann), .handler { [ann] _ in .use(ann) }, .tokens(TokenSource("t") { _ in "u" })] {
            try await withWire { wire async throws in
                wire.server.on("/*", .status(401))
                let hits = Counter()
                let agent = wire.agent
                let visitor = StepDoor.add { step, run in
                    guard step == .challengeDecided, agent.liveRuns().contains(where: { $0.id == run }) else { return }
                    hits.add()
                    agent.cancelAll()
                }
                let outcome = await wire.get { $0.authentication = authentication }.outcome()
                StepDoor.remove(visitor)
                await agent.waitUntilIdle()
                #expect(hits.value == 1)
                #expect(throws: NetworkError.self) { try outcome.get() }
                #expect(wire.server.requests.count == 1)
            }
        }
    }

    @Test func theTotalTimeGoesOnWhileItIsAsked() async throws {
        try await withDoor { wire async throws in
            let error = try await wire.get {
                $0.timeouts.total = .milliseconds(100)
                $0.authentication = .handler { _ in
                    try? await Task.sleep(for: .seconds(60))
                    return .deliver
                }
            }.failure()
            #expect(error.code == .totalTimeout)
        }
    }
}
