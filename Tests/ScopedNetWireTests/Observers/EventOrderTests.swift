import CleanSlate
import Foundation
import ScopedNetTestServer
import SystemSupport
import Testing

@testable import ScopedNet

/// Observers hear of every doorway, in order, with its payload.
@Suite(.leavesNothing) struct EventOrderTests {
    final class Recorder: RequestObserver {
        let events = Lock<[RequestEvent]>([])
        func observe(_ event: RequestEvent) { events.withLock { $0.append(event) } }
        var names: [String] { events.withLock { $0.map { Self.name($0.kind) } } }

        static func name(_ kind: RequestEvent.Kind) -> String {
            switch kind {
            case .created: "created"
            case .cacheDecided(let status): "cache \(status)"
            case .waitingForConnectivity: "waiting for connectivity"
            case .rateLimited: "rate limited"
            case .upgraded: "upgraded"
            case .queued: "queued"
            case .started(let attempt): "started \(attempt)"
            case .suspended: "suspended"
            case .resumed: "resumed"
            case .nameResolved: "resolved"
            case .connected: "connected"
            case .secured: "secured"
            case .trustReported(let failure): "trust \(failure.reason)"
            case .requestSent: "sent"
            case .informational(let head): "informational \(head.status)"
            case .headReceived(let head): "head \(head.status)"
            case .sent, .received: "progress"
            case .redirected(_, _, let status): "redirected \(status)"
            case .challenged(_, let status, let answer): "challenged \(status) \(answer ?? "-")"
            case .attemptFinished(_, let error): "attempt finished\(error == nil ? "" : " badly")"
            case .retryDecided(_, let after): after == nil ? "no retry" : "retry"
            case .bodyReceived(let bytes): "body \(bytes)"
            case .becameDownload: "became a download"
            case .fileWritten(_, let bytes): "written \(bytes)"
            case .decoded: "decoded"
            case .finished(let completion): completion.error.map { "finished \($0.code)" } ?? "finished"
            case .cancelled(let reason): "cancelled \(reason)"
            }
        }
    }

    struct Thing: Decodable, Sendable { let a: Int }

    private func record(
        _ server: LoopbackServer.Configuration = .init(), _ change: (inout Session.Configuration) -> Void = { _ in },
        _ body: (House) async throws -> Void
    ) async throws -> Recorder {
        let recorder = Recorder()
        try await withHouse(
            server,
            {
                $0.observers = [recorder]; change(&$0)
            }, body)
        return recorder
    }

    // SES-12
    @Test func aPlainRequestGoesThroughEveryDoorwayInOrder() async throws {
        let recorder = try await record { house in
            house.server.on("/a", .json("{\"a\": 1}"))
            _ = try await house.session.get(house.url("/a"), as: Thing.self).value()
        }
        #expect(
            recorder.names.filter { $0 != "progress" } == [
                "created", "started 1", "resolved", "connected", "sent", "head 200", "attempt finished", "body 8", "decoded", "finished",
            ])
    }

    @Test func aReusedConnectionResolvesAndConnectsNothing() async throws {
        let recorder = try await record { house in
            house.server.on("/a", .ok("x"))
            _ = try await house.session.send(house.url("/a"))
            await house.agent.waitUntilIdle()
            _ = try await house.session.send(house.url("/a"))
        }
        #expect(recorder.names.filter { $0 == "connected" }.count == 1)
        #expect(recorder.names.filter { $0 == "sent" }.count == 2)
    }

    @Test func tlsIsADoorwayOfItsOwn() async throws {
        let authority = try TestAuthority(name: "events")
        let identity = try authority.makeServerIdentity()
        let recorder = try await record(.init(tls: identity), { $0.tls.certificateAuthority = .pem(authority.certificatePEM) }) { house in
            house.server.on("/a", .ok("x"))
            _ = try await house.session.send(house.url("/a"))
        }
        let names = recorder.names
        #expect(names.firstIndex(of: "connected")! < names.firstIndex(of: "secured")!)
        #expect(names.firstIndex(of: "secured")! < names.firstIndex(of: "sent")!)
    }

    @Test func redirectsRetriesAndTheirReasonsAreTold() async throws {
        let recorder = try await record(.init(), { $0.random = { 0 } }) { house in
            house.server.on("/r", .redirect(to: "/f", status: 302))
            house.server.enqueue(.status(503), for: "/f")
            house.server.on("/f", .ok("x"))
            _ = try await house.session.request(house.url("/r")).options { $0.retry = .standard }.value()
        }
        let wanted = ["redirected 302", "retry", "finished"]
        #expect(recorder.names.filter(wanted.contains) == wanted)
        #expect(recorder.names.contains("started 2"))
    }

    // SES-12, SES-16
    @Test func theEndingHasTheFinalErrorAndTheMetricsOfEachAttempt() async throws {
        let recorder = try await record { house in
            house.server.on("/r", .redirect(to: "/a", status: 302))
            house.server.on("/a", .json("not json"))
            let request = house.session.get(house.url("/r"), as: Thing.self)
            do throws(NetworkError) { _ = try await request.value() } catch { #expect(error.code == .decodingFailed) }
        }
        #expect(recorder.names.last == "finished decodingFailed")
        guard case .finished(let completion) = recorder.events.withLock({ $0.last?.kind }) else { Issue.record("no ending"); return }
        #expect(completion.metrics.count == 2)
        #expect(completion.metrics.allSatisfy { $0.total > .zero && $0.headerBytesReceived > 0 })
        #expect(completion.response?.status == 200)
    }

    // SES-16
    @Test func aCancellationIsToldWithItsReasonAndEndsTheEvents() async throws {
        let recorder = try await record { house in
            house.server.on("/a", .ok("x").stalling(.beforeHead))
            let bag = DeallocBag()
            house.session.request(house.url("/a")).start(in: bag)
            try await house.server.waitForStalls()
            bag.end()
        }
        // The attempt's own end, with what it cost, may follow: the socket is closed after the run was cancelled.
        #expect(recorder.names.filter { !$0.hasPrefix("attempt finished") }.last == "cancelled owner released")
        #expect(recorder.names.filter { $0.hasPrefix("cancelled") || $0.hasPrefix("finished") }.count == 1)
    }

    @Test func waitingAndSuspendingAreDoorwaysOnRealTransitionsOnly() async throws {
        let recorder = try await record(.init(), { $0.limits.perHost = 1 }) { house in
            house.server.on("/a", .ok("x").stalling(.beforeHead))
            house.server.on("/b", .ok("y"))
            let first = house.session.request(house.url("/a")).start()
            try await house.server.waitForStalls()
            house.session.request(house.url("/b")).start()
            #expect(first.suspend())
            #expect(!first.suspend())
            #expect(first.resume())
            #expect(!first.resume())
            house.server.releaseStalls()
            await house.agent.waitUntilIdle()
        }
        let names = recorder.names
        #expect(names.filter { $0 == "queued" }.count == 1)
        #expect(names.filter { $0 == "suspended" }.count == 1)
        #expect(names.filter { $0 == "resumed" }.count == 1)
    }

    private struct Teller: RequestObserver {
        let name: String
        let trace: Trace
        func observe(_ event: RequestEvent) { trace.add("\(name): \(Recorder.name(event.kind))") }
    }

    /// SES-12: each event reaches all of them, in the order of the configuration.
    @Test func severalObserversAreCalledInTheirOrder() async throws {
        let trace = Trace()
        try await withStage({ $0.observers = [Teller(name: "one", trace: trace), Teller(name: "two", trace: trace)] }) { session, stage in
            session.request("http://h/").start()
            await stage.waitForStarts(1)
            stage.succeed(stage.started[0])
        }
        let events = trace.lines.filter { $0.hasPrefix("one: ") }.map { String($0.dropFirst("one: ".count)) }
        let expected = events.flatMap { ["one: \($0)", "two: \($0)"] }
        #expect(events.last == "finished")
        #expect(trace.lines == expected)
    }

    // SES-12
    @Test func aRunNobodyObservesHasNoFeed() async throws {
        try await withStage { session, stage in
            let run = session.request("http://h/").onSuccess { _ in }.start()
            #expect(run.core.feed == nil)
            await stage.waitForStarts(1)
            stage.succeed(stage.started[0])
        }
    }
}
