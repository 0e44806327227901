import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// REQ-2
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct TransportTimeoutTests {
    /// Long enough for a busy machine to come to the point in question first.
    private let short = Duration.milliseconds(500)
    /// For tests that have to do something before it is over: other tests may hold their threads for a while, but not the network's.
    private let ample = Duration.seconds(3)

    @Test func theDefaultsAreGenerous() {
        #expect(Timeouts() == Timeouts(queue: nil, connect: .seconds(10), firstByte: .seconds(60), idle: .seconds(60), total: nil))
    }

    @Test(
        arguments: [
            \Timeouts.connectivity, \Timeouts.queue, \Timeouts.connect, \Timeouts.firstByte, \Timeouts.idle, \Timeouts.total,
        ] as [WritableKeyPath<Timeouts, Duration?> & Sendable], [Duration.zero, .milliseconds(-1)])
    func clocksThatMakeNoSenseAreErrors(_ clock: any WritableKeyPath<Timeouts, Duration?> & Sendable, _ value: Duration) async throws {
        try await withWire { wire async throws in
            let error = try await wire.get { $0.timeouts[keyPath: clock] = value }.failure()
            #expect(error.code == .invalidOption)
            #expect(error.phase == .preparing)
            #expect(wire.server.connectionsAccepted == 0)
        }
    }

    @Test func queue() async throws {
        try await withWire {
            $0.limits.perHost = 1
        } _: { wire async throws in
            wire.server.on("/", .ok("x").stalling(.beforeHead))
            wire.get().start()
            try await wire.server.waitForStalls()
            let error = try await wire.get { $0.timeouts.queue = short }.failure()
            #expect(error.code == .queueTimeout)
            #expect(error.phase == .queued)
            #expect(error.isTimeout && !error.mayHaveReachedServer)
            #expect(wire.server.requests.count == 1)
            wire.server.releaseStalls()
        }
    }

    /// Defect 38: waiting for a slot is not waiting for the server.
    @Test func waitingInTheQueueEatsNoOtherClock() async throws {
        try await withWire {
            $0.limits.perHost = 1
        } _: { wire async throws in
            wire.server.enqueue(.ok("slow").delayed(by: .milliseconds(1_500)))
            wire.server.on("/", .ok("fast"))
            wire.get().start()
            try await wire.server.waitForRequests(1)
            let response = try await wire.get { options in
                options.timeouts = Timeouts(
                    connect: .seconds(1), firstByte: .seconds(1), idle: .seconds(1), total: .seconds(1))
            }.response()
            #expect(response.body == Data("fast".utf8))
        }
    }

    @Test func connect() async throws {
        let trap = try SocketTrap(isFull: true)
        try await withSession { session async throws in
            let error = try await session.request("http://127.0.0.1:\(trap.port)/").options { $0.timeouts.connect = short }.failure()
            #expect(error.code == .connectTimeout)
            #expect(error.phase == .connecting)
            #expect(error.isOffline && error.isTimeout && !error.mayHaveReachedServer)
        }
    }

    @Test func connectIncludesTLS() async throws {
        let trap = try SocketTrap(isFull: false)
        try await withSession { session async throws in
            let error = try await session.request("https://127.0.0.1:\(trap.port)/").options { $0.timeouts.connect = short }.failure()
            #expect(error.code == .connectTimeout)
            #expect(error.phase == .securing)
            #expect(!error.mayHaveReachedServer)
        }
    }

    @Test func firstByte() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("x").stalling(.beforeHead))
            let error = try await wire.get { $0.timeouts.firstByte = short }.failure()
            #expect(error.code == .firstByteTimeout)
            #expect(error.phase == .awaitingResponse)
            #expect(error.mayHaveReachedServer)
            #expect(try await wire.server.takeRequest().ending() == .clientClosed)
        }
    }

    @Test func firstByteBehindAnUpload() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("x").stalling(.beforeHead))
            for size in [10, 1 << 20] {
                let error = try await wire.session.request(wire.url + "/", method: .post, body: .data(bytes(size)))
                    .options { $0.timeouts.firstByte = short }.failure()
                #expect(error.code == .firstByteTimeout)
                #expect(error.phase == .awaitingResponse)
            }
        }
    }

    /// The first byte's clock begins when the request can be sent, not before.
    @Test func connectingIsNotTheFirstBytesTime() async throws {
        let trap = try SocketTrap(isFull: true)
        try await withSession { session async throws in
            let error = try await session.request("http://127.0.0.1:\(trap.port)/").options { options in
                options.timeouts.firstByte = .milliseconds(50)
                options.timeouts.connect = .milliseconds(250)
            }.failure()
            #expect(error.code == .connectTimeout)
        }
    }

    @Test(arguments: [0, 4])
    func idle(_ count: Int) async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("0123456789").stalling(count == 0 ? .afterHead : .afterBytes(count)))
            let error = try await wire.get { $0.timeouts.idle = short }.failure()
            #expect(error.code == .idleTimeout)
            #expect(error.phase == .receiving)
            #expect(error.response?.status == 200)
            #expect(try await wire.server.takeRequest().ending() == .clientClosed)
        }
    }

    @Test func idleWhileSending() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok().stalling(.beforeHead).with { $0.requestBody = .leaveUnread })
            let error = try await wire.session.request(wire.url + "/", method: .put, body: .data(bytes(64 << 20))).options { options in
                options.timeouts.idle = short
                options.timeouts.firstByte = .seconds(30)
            }.failure()
            #expect(error.code == .idleTimeout)
            #expect(error.phase == .sending)
            wire.server.releaseStalls()
        }
    }

    @Test func idleIsAboutSilenceNotAboutLength() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .slow("0123456789", bytes: 1, every: .milliseconds(200)))
            #expect(try await wire.get { $0.timeouts.idle = .milliseconds(1_200) }.response().body.count == 10)
        }
    }

    @Test(arguments: [ScriptedResponse.Stall.beforeHead, .afterHead, .afterBytes(4)])
    func total(_ stall: ScriptedResponse.Stall) async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("0123456789").stalling(stall))
            let error = try await wire.get { $0.timeouts.total = short }.failure()
            #expect(error.code == .totalTimeout)
            #expect(error.phase == (stall == .beforeHead ? .awaitingResponse : .receiving))
        }
    }

    @Test func totalIsNotExtendedByBytes() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .slow(String(repeating: "x", count: 1_000), bytes: 1, every: .milliseconds(20)))
            #expect(try await wire.get { $0.timeouts.total = .milliseconds(250) }.failure().code == .totalTimeout)
        }
    }

    @Test func totalHoldsOverRetries() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .status(503))
            let error = try await wire.get { options in
                options.retry = RetryPolicy(maxAttempts: 1_000, backoffBase: .milliseconds(20), backoffFactor: 1)
                options.timeouts.total = .milliseconds(300)
            }.failure()
            // The wait that would cross the line is not begun, so what is known is told: the last answer.
            #expect([.totalTimeout, .unacceptableStatus].contains(error.code))
            #expect(wire.server.requests.count < 1_000)
        }
    }

    @Test func totalHoldsInASecondAttemptThatStalls() async throws {
        try await withWire { wire async throws in
            wire.server.enqueue(.status(503))
            wire.server.on("/", .ok("x").stalling(.beforeHead))
            let error = try await wire.get { options in
                options.retry = RetryPolicy(maxAttempts: 3, backoffBase: .milliseconds(1))
                options.timeouts.total = .seconds(1)
            }.failure()
            #expect(error.code == .totalTimeout)
            #expect(error.attempt == 2)
        }
    }

    /// A redirect's second hop waits for a slot that somebody else holds: the total time runs there too.
    @Test func totalHoldsInTheQueueBehindARedirect() async throws {
        try await withWire {
            $0.limits.perHost = 1
        } _: { wire async throws in
            wire.server.on("/a", .redirect(to: "/b").stalling(.beforeHead))
            wire.server.on("/b", .ok("never"))
            wire.server.on("/blocked", .ok("x").stalling(.beforeHead))
            let redirected = wire.get("/a") { $0.timeouts.total = ample }
            let outcome = Task { await redirected.outcome() }
            try await wire.server.waitForStalls()
            let blocker = wire.get("/blocked").start()
            wire.server.releaseStalls()
            guard case .failure(let error) = await outcome.value else { throw UnexpectedSuccess() }
            #expect(error.code == .totalTimeout)
            #expect(error.phase == .queued)
            await blocker.cancelAndWait()
            #expect(wire.server.requests.allSatisfy { $0.path != "/b" })
        }
    }

    // MARK: Suspending

    // THR-4
    @Test func aSuspendedTransferHoldsTheIdleClock() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("0123456789").stalling(.afterBytes(4)))
            wire.server.on("/mute", .ok().stalling(.beforeHead))
            let ends = Gathered<EndReason>()
            let run = wire.get { $0.timeouts.idle = ample }.onEnd { ends.add($0) }.start()
            try await wire.server.waitForStalls()
            #expect(run.suspend())
            // Another request's silence measures the time.
            #expect(try await wire.get("/mute") { $0.timeouts.firstByte = ample * 2 }.failure().code == .firstByteTimeout)
            #expect(ends.all.isEmpty, "the idle clock ran while suspended: \(ends.all)")
            #expect(run.status.isSuspended)
            #expect(run.resume())
            wire.server.releaseStalls()
            await wire.agent.waitUntilIdle()
            guard case .succeeded? = ends.all.first else { throw UnexpectedSuccess() }
        }
    }

    @Test func aResumedTransferHasItsIdleClockBack() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("0123456789").stalling(.afterBytes(4)))
            let request = wire.get { $0.timeouts.idle = ample }
            let outcome = Task { await request.outcome() }
            try await wire.server.waitForStalls()
            let run = try #require(request.last)
            #expect(run.setSuspended(true))
            #expect(run.setSuspended(false))
            guard case .failure(let error) = await outcome.value else { throw UnexpectedSuccess() }
            #expect(error.code == .idleTimeout)
        }
    }

    // THR-4, defect 53
    @Test func aSuspendedTransferStopsTheServer() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok(.repeating(7, count: 128 << 20)).stalling(.afterBytes(1 << 20)))
            let ends = Gathered<EndReason>()
            let run = wire.get().onEnd { ends.add($0) }.start()
            try await wire.server.waitForStalls()
            run.suspend()
            // Commands are carried out in their order: when this one has failed, the other is suspended.
            _ = try? await wire.session.request("http://127.0.0.1:1/").response()
            wire.server.releaseStalls()
            let request = try await wire.server.takeRequest()
            var sent = -1
            var rests = 0
            while rests < 50, ends.all.isEmpty {
                rests = request.bodyBytesSent == sent ? rests + 1 : 0
                sent = request.bodyBytesSent
                _ = try? await wire.session.request("http://127.0.0.1:1/").response()
            }
            #expect(ends.all.isEmpty, "it ended while suspended")
            run.resume()
            await wire.agent.waitUntilIdle()
            guard case .succeeded? = ends.all.first else { throw UnexpectedSuccess() }
            #expect(request.bodyBytesSent == 128 << 20)
        }
    }

    // Defect 53
    @Test func cancellingASuspendedTransfer() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("0123456789").stalling(.afterBytes(4)))
            let run = wire.get().start()
            try await wire.server.waitForStalls()
            run.suspend()
            #expect(await run.cancelAndWait() == .cancelled)
            #expect(try await wire.server.takeRequest().ending() == .clientClosed)
        }
    }

    /// Who is cancelled while he waits may be asked again without doing the work twice; who was on his way may not.
    @Test func aCancelledRequestKnowsWhetherItWasSent() async throws {
        try await withWire {
            $0.limits.perHost = 1
        } _: { wire async throws in
            wire.server.on("/", .ok("x").stalling(.beforeHead))
            let first = wire.get()
            let second = wire.get()
            async let sent = first.outcome()
            try await wire.server.waitForRequests(1)
            async let waiting = second.outcome()
            while wire.session.admission.waitingCount == 0 { await Task.yield() }
            second.cancel()
            first.cancel()
            guard case .failure(let early) = await waiting, case .failure(let late) = await sent else { throw UnexpectedSuccess() }
            #expect(early.isCancelled && !early.mayHaveReachedServer)
            #expect(late.isCancelled && late.mayHaveReachedServer)
        }
    }
}
