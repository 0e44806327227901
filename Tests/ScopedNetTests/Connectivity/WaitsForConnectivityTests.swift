import CleanSlate
import Foundation
import Reachability
import ScopedNetTesting
import SystemSupport
import Testing

@testable import ScopedNet

/// Requests that wait for a path, with a network that comes and goes by hand.
@Suite(.leavesNothing, .timeLimit(.minutes(5))) struct WaitsForConnectivityTests {
    private static let url = "http://192.0.2.1/posts"

    private func withNetwork(
        isSatisfied: Bool? = false, waits: Bool = true, _ change: (inout Session.Configuration) -> Void = { _ in },
        _ body: (Session, MockTransport, ManualConnectivity, ManualClock) async throws -> Void
    ) async throws {
        let network = ManualConnectivity(isSatisfied: isSatisfied)
        let clock = ManualClock()
        try await withStage {
            $0.connectivity = network.connectivity
            $0.timing = clock
            $0.random = { 0.5 }
            $0.options.waitsForConnectivity = waits
            change(&$0)
        } _: { session, transport in
            try await body(session, transport, network, clock)
        }
        #expect(network.waitingCount == 0)
        #expect(clock.armedCount == 0)
    }

    // REQ-2
    @Test func aRequestWithoutAPathWaitsForIt() async throws {
        let recorder = KindRecorder()
        try await withNetwork {
            $0.observers = [recorder]
        } _: { session, transport, network, _ in
            async let response = session.request(Self.url).value()
            await network.waitForWaiting(1)
            #expect(transport.started.isEmpty)
            network.connect()
            await transport.waitForStarts(1)
            transport.succeed(transport.started[0])
            let body = try await response
            #expect(String(decoding: body, as: UTF8.self) == "ok")
        }
        #expect(recorder.names.filter { $0 == "waitingForConnectivity" }.count == 1)
    }

    @Test func withAPathNothingWaits() async throws {
        try await withNetwork(isSatisfied: true) { session, transport, network, _ in
            let run = session.request(Self.url).start()
            #expect(transport.started.count == 1)
            #expect(network.waitingCount == 0)
            transport.succeed(transport.started[0])
            _ = run
        }
    }

    // RCH-7
    @Test func noRequestWaitsThatDidNotAsk() async throws {
        try await withNetwork(waits: false) { session, transport, network, _ in
            let run = session.request(Self.url).start()
            #expect(transport.started.count == 1)
            #expect(network.waitingCount == 0)
            transport.succeed(transport.started[0])
            _ = run
        }
    }

    @Test func whatStaysOnTheMachineDoesNotWait() async throws {
        try await withNetwork { session, transport, _, _ in
            let run = session.request("http://localhost/").start()
            #expect(transport.started.count == 1)
            transport.succeed(transport.started[0])
            _ = run
        }
    }

    @Test func offMeansThatNothingWaits() async throws {
        try await withStage {
            $0.connectivity = .off
            $0.options.waitsForConnectivity = true
        } _: { session, transport in
            let run = session.request(Self.url).start()
            #expect(transport.started.count == 1)
            transport.succeed(transport.started[0])
            _ = run
        }
    }

    @Test func theWaitEndsWithItsClock() async throws {
        try await withNetwork {
            $0.options.timeouts.connectivity = .seconds(5)
        } _: { session, transport, network, clock in
            async let outcome = session.request(Self.url).outcome()
            await network.waitForWaiting(1)
            #expect(clock.nextWait == .seconds(5))
            clock.advance(by: .seconds(5))
            guard case .failure(let error) = await outcome else {
                Issue.record("it succeeded")
                return
            }
            #expect(error.code == .connectivityTimeout)
            #expect(error.isTimeout && error.isOffline)
            #expect(!error.mayHaveReachedServer)
            #expect(error.message == "no path to 192.0.2.1 for 5.0 seconds")
            // The path that comes now starts nothing.
            network.connect()
            #expect(transport.started.isEmpty)
        }
    }

    @Test func theWaitEndsWithItsScope() async throws {
        try await withNetwork { session, transport, network, _ in
            let trace = Trace()
            var bag: DeallocBag? = DeallocBag()
            if let bag {
                session.request(Self.url).onSuccess { _ in trace.add("success") }.onFailure { _ in trace.add("failure") }
                    .onEnd { trace.add("end: \($0)") }.start(in: bag)
            }
            await network.waitForWaiting(1)
            bag = nil
            await session.agent.waitUntilIdle()
            network.connect()
            #expect(transport.started.isEmpty)
            #expect(trace.lines.count == 1 && trace.lines[0].hasPrefix("end: "))
        }
    }

    @Test func aCancelledTaskWaitsNoLonger() async throws {
        try await withNetwork { session, transport, network, _ in
            let task = Task { try await session.request(Self.url).value() }
            await network.waitForWaiting(1)
            task.cancel()
            let result = await task.result
            #expect((result.failure as? NetworkError)?.isCancelled == true)
            #expect(transport.started.isEmpty)
        }
    }

    @Test func whatIsNotKnownYetIsWaitedForWithoutAWord() async throws {
        let recorder = KindRecorder()
        try await withNetwork(isSatisfied: nil) {
            $0.observers = [recorder]
        } _: { session, transport, network, _ in
            let run = session.request(Self.url).start()
            #expect(network.waitingCount == 1)
            network.connect()
            await transport.waitForStarts(1)
            transport.succeed(transport.started[0])
            _ = run
        }
        #expect(!recorder.names.contains("waitingForConnectivity"))
    }

    @Test func manyWaitAndAllGo() async throws {
        try await withNetwork { session, transport, network, _ in
            let runs = (0..<50).map { session.request("http://192.0.2.1/\($0)").start() }
            #expect(network.waitingCount == 50)
            network.connect()
            // Six at a time, the limit of a host.
            for number in 0..<50 { transport.succeed(await transport.exchange(number)) }
            _ = runs
        }
    }
}

/// Retries that were to come while the path was gone.
@Suite(.leavesNothing, .timeLimit(.minutes(5))) struct RetryWithPathTests {
    private func withRetries(
        _ body: (Session, MockTransport, ManualConnectivity, ManualClock) async throws -> Void
    ) async throws {
        let network = ManualConnectivity()
        let clock = ManualClock()
        try await withStage {
            $0.connectivity = network.connectivity
            $0.timing = clock
            $0.random = { 0.5 }
            $0.options.retry = RetryPolicy(maxAttempts: 3, backoffBase: .seconds(2), backoffCap: .seconds(30))
        } _: { session, transport in
            try await body(session, transport, network, clock)
        }
        #expect(network.waitingCount == 0)
        #expect(clock.armedCount == 0)
    }

    @Test func aRetryGoesOutWithThePathAndAJitter() async throws {
        try await withRetries { session, transport, network, clock in
            let run = session.request("http://192.0.2.1/").start()
            network.disconnect()
            transport.fail(await transport.exchange(0), .connectionFailed)
            #expect(network.waitingCount == 1)
            #expect(clock.nextWait == .seconds(30))
            clock.advance(by: .seconds(29))
            #expect(transport.started.count == 1)
            network.connect()
            // Half of a second's jitter: half of the policy's wait of one second.
            #expect(clock.nextWait == .milliseconds(500))
            clock.advance(by: .milliseconds(500))
            transport.succeed(await transport.exchange(1))
            _ = run
        }
    }

    @Test func shouldTheSystemBeWrongTheLongestWaitEnds() async throws {
        try await withRetries { session, transport, network, clock in
            let run = session.request("http://192.0.2.1/").start()
            network.disconnect()
            transport.fail(await transport.exchange(0), .connectionFailed)
            clock.advance(by: .seconds(30))
            transport.succeed(await transport.exchange(1))
            _ = run
        }
    }

    @Test func withAPathTheClockDecides() async throws {
        try await withRetries { session, transport, network, clock in
            let run = session.request("http://192.0.2.1/").start()
            transport.fail(await transport.exchange(0), .connectionFailed)
            #expect(network.waitingCount == 0)
            #expect(clock.nextWait == .seconds(1))
            clock.advance(by: .seconds(1))
            transport.succeed(await transport.exchange(1))
            _ = run
        }
    }

    @Test func aStatusIsNoMatterOfThePath() async throws {
        try await withRetries { session, transport, network, clock in
            let run = session.request("http://192.0.2.1/").start()
            network.disconnect()
            transport.succeed(await transport.exchange(0), status: 503)
            #expect(network.waitingCount == 0)
            #expect(clock.nextWait == .seconds(1))
            clock.advance(by: .seconds(1))
            transport.succeed(await transport.exchange(1))
            _ = run
        }
    }

    @Test func aBagsEndEndsTheWait() async throws {
        try await withRetries { session, transport, network, clock in
            let bag = DeallocBag()
            session.request("http://192.0.2.1/").start(in: bag)
            network.disconnect()
            transport.fail(await transport.exchange(0), .connectionFailed)
            #expect(network.waitingCount == 1)
            bag.end()
            await session.agent.waitUntilIdle()
            network.connect()
            clock.advance(by: .seconds(60))
            #expect(transport.started.count == 1)
        }
    }

    /// The path is there as soon as somebody waits for it: before the wait itself is noted.
    @Test(arguments: [true, false]) func aPathThatComesAtOnceTakesNothingAway(_ isCancelled: Bool) async throws {
        let clock = ManualClock()
        try await withStage {
            $0.connectivity = .source(EagerConnectivity())
            $0.timing = clock
            $0.random = { 0.5 }
            $0.options.retry = RetryPolicy(maxAttempts: 3, backoffBase: .seconds(2), backoffCap: .seconds(30))
        } _: { session, transport in
            let run = session.request("http://192.0.2.1/").start()
            transport.fail(await transport.exchange(0), .connectionFailed)
            #expect(clock.armedCount == 2, "the longest wait, and the jitter")
            #expect(clock.nextWait == .milliseconds(500))
            if isCancelled {
                run.cancel()
                await session.agent.waitUntilIdle()
            } else {
                clock.advance(by: .milliseconds(500))
                transport.succeed(await transport.exchange(1))
            }
            #expect(clock.armedCount == 0, "both are gone")
        }
    }

    @Test func aCancelDuringTheJitterIsNotLost() async throws {
        try await withRetries { session, transport, network, clock in
            let run = session.request("http://192.0.2.1/").start()
            network.disconnect()
            transport.fail(await transport.exchange(0), .connectionFailed)
            network.connect()
            run.cancel()
            await session.agent.waitUntilIdle()
            clock.advance(by: .seconds(60))
            #expect(transport.started.count == 1)
        }
    }
}

/// No path when it is asked, and one before whoever waits for it has gone on: the other thread is always faster.
private final class EagerConnectivity: ConnectivitySource {
    func isSatisfied(_ targets: [NetworkPath.Target]) -> Bool? { false }

    func wait(for targets: [NetworkPath.Target], notYet: (@Sendable () -> Void)?, _ action: @escaping @Sendable () -> Void)
        -> any Cancellable
    {
        let isOver = DispatchSemaphore(value: 0)
        Thread {
            action()
            isOver.signal()
        }.start()
        isOver.wait()
        return AnyCancellable {}
    }

    func watch(_ action: @escaping @Sendable () -> Void) -> any Cancellable { AnyCancellable {} }
}

/// The names of the events, in order.
private final class KindRecorder: RequestObserver {
    private let events = Lock<[String]>([])
    var names: [String] { events.withLock { $0 } }
    func observe(_ event: RequestEvent) {
        let name = "\(event.kind)".prefix { $0 != "(" }
        events.withLock { $0.append(String(name)) }
    }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
