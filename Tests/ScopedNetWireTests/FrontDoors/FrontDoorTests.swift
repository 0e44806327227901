import CleanSlate
import Foundation
import ScopedNetTesting
import Testing

@testable import ScopedNet

/// One body of tests for closures, delegate and `await`, over a mock and over libcurl: whatever the door and whatever carries the request, a run
/// ends in the same way.
@Suite(.leavesNothing, .timeLimit(.minutes(2))) struct FrontDoorTests {
    @Test(arguments: FrontDoor.allCases, Carrier.allCases)
    func aSuccessBringsItsValue(door: FrontDoor, carrier: Carrier) async throws {
        try await carrier.withStage { stage in
            stage.on("/a", .ok("hello"))
            let report = try await door.send(stage.request("/a"))
            #expect(report.outcome == .success("hello"))
            #expect(stage.arrivals == 1)
        }
    }

    @Test(arguments: FrontDoor.allCases, Carrier.allCases)
    func aStatusThatIsNoSuccessFails(door: FrontDoor, carrier: Carrier) async throws {
        try await carrier.withStage { stage in
            stage.on("/a", .status(500))
            let report = try await door.send(stage.request("/a"))
            #expect(report.outcome == .failure(.unacceptableStatus))
        }
    }

    @Test(arguments: FrontDoor.allCases, Carrier.allCases)
    func aBodyThatIsNoValueFails(door: FrontDoor, carrier: Carrier) async throws {
        try await carrier.withStage { stage in
            stage.on("/a", .json("no JSON"))
            let report = try await door.send(stage.session.get(stage.url("/a"), as: [Int].self))
            #expect(report.outcome == .failure(.decodingFailed))
        }
    }

    @Test(arguments: FrontDoor.allCases, Carrier.allCases)
    func aValueIsDecoded(door: FrontDoor, carrier: Carrier) async throws {
        try await carrier.withStage { stage in
            stage.on("/a", .json("[1, 2]"))
            let report = try await door.send(stage.session.get(stage.url("/a"), as: [Int].self))
            #expect(report.outcome == .success("[1, 2]"))
        }
    }

    @Test(arguments: FrontDoor.allCases, Carrier.allCases)
    func aConnectionThatIsLostFails(door: FrontDoor, carrier: Carrier) async throws {
        try await carrier.withStage { stage in
            stage.on("/a", .hangUp)
            let report = try await door.send(stage.request("/a"))
            #expect(report.outcome == .failure(.connectionLost))
        }
    }

    @Test(arguments: FrontDoor.allCases, Carrier.allCases)
    func aURLThatIsNoneFailsAndSendsNothing(door: FrontDoor, carrier: Carrier) async throws {
        try await carrier.withStage { stage in
            let report = try await door.send(stage.session.request("http://bad host/"))
            #expect(report.outcome == .failure(.invalidURL))
            #expect(stage.arrivals == 0)
        }
    }

    @Test(arguments: FrontDoor.allCases, Carrier.allCases)
    func aBodyLargerThanAllowedFails(door: FrontDoor, carrier: Carrier) async throws {
        try await carrier.withStage { stage in
            stage.on("/a", .body(4_000))
            let report = try await door.send(stage.request("/a") { $0.limits.bodyBytes = 100 })
            #expect(report.outcome == .failure(.bodyTooLarge))
        }
    }

    // MARK: Cancelling

    @Test(arguments: FrontDoor.allCases, Carrier.allCases)
    func aStartInAnEndedBagSendsNothing(door: FrontDoor, carrier: Carrier) async throws {
        try await carrier.withStage { stage in
            stage.on("/a", .ok("x"))
            let bag = DeallocBag()
            bag.end()
            let report = try await door.send(stage.request("/a"), in: bag)
            #expect(report.outcome == .cancelled(.ownerReleased))
            #expect(report.calls.allSatisfy { $0 == "end" })
            #expect(stage.arrivals == 0)
        }
    }

    // YTK-6
    @Test(arguments: FrontDoor.allCases, Carrier.allCases)
    func aCancelInFlightIsTheEnd(door: FrontDoor, carrier: Carrier) async throws {
        try await carrier.withStage { stage in
            stage.on("/a", .silence)
            let report = try await door.send(stage.request("/a")) { handle in
                try await stage.waitForSilence()
                handle.cancel()
            }
            #expect(report.outcome == .cancelled(door.ownReason))
            #expect(report.calls.allSatisfy { $0 == "end" })
            // A delegate hears nothing at all.
            #expect(report.calls.isEmpty == (door == .delegate))
        }
    }

    @Test(arguments: FrontDoor.allCases, Carrier.allCases)
    func aBagThatEndsTakesTheRequestAlong(door: FrontDoor, carrier: Carrier) async throws {
        try await carrier.withStage { stage in
            stage.on("/a", .silence)
            let bag = DeallocBag()
            let report = try await door.send(stage.request("/a"), in: bag) { _ in
                try await stage.waitForSilence()
                bag.end()
            }
            #expect(report.outcome == .cancelled(.ownerReleased))
            #expect(bag.count == 0)
        }
    }

    @Test(arguments: FrontDoor.allCases, Carrier.allCases)
    func aShutdownEndsIt(door: FrontDoor, carrier: Carrier) async throws {
        try await carrier.withStage { stage in
            stage.on("/a", .silence)
            let report = try await door.send(stage.request("/a")) { _ in
                try await stage.waitForSilence()
                await stage.session.shutdown()
            }
            #expect(report.outcome == .cancelled(.shutdown))
        }
    }

    // MARK: More than one exchange

    @Test(arguments: FrontDoor.allCases, Carrier.allCases)
    func aRetryAfterALostConnectionSucceeds(door: FrontDoor, carrier: Carrier) async throws {
        try await carrier.withStage { stage in
            stage.enqueue(.hangUp)
            stage.on("/a", .ok("second"))
            let policy = RetryPolicy(maxAttempts: 2, backoffBase: .milliseconds(1))
            let report = try await door.send(stage.request("/a") { $0.retry = policy })
            #expect(report.outcome == .success("second"))
            #expect(report.calls.count { $0.hasPrefix("head") } <= 1)
            #expect(stage.arrivals == 2)
        }
    }

    @Test(arguments: FrontDoor.allCases, Carrier.allCases)
    func aCancelBetweenAttemptsHolds(door: FrontDoor, carrier: Carrier) async throws {
        let clock = ManualClock()
        try await carrier.withStage {
            $0.use(clock)
        } _: { stage in
            stage.on("/a", .status(503))
            let report = try await door.send(stage.request("/a") { $0.retry = .standard }) { handle in
                await clock.waitForTimers(1)
                handle.cancel()
            }
            clock.advance(by: .seconds(100))
            #expect(report.outcome == .cancelled(door.ownReason))
            #expect(stage.arrivals == 1)
        }
    }

    @Test(arguments: FrontDoor.allCases, Carrier.allCases)
    func aRedirectIsFollowed(door: FrontDoor, carrier: Carrier) async throws {
        try await carrier.withStage { stage in
            stage.on("/a", .redirect("/b"))
            stage.on("/b", .ok("there"))
            let report = try await door.send(stage.request("/a"))
            #expect(report.outcome == .success("there"))
            #expect(report.calls.allSatisfy { $0 != "head 302" })
            #expect(stage.arrivals == 2)
        }
    }

    @Test(arguments: FrontDoor.allCases, Carrier.allCases)
    func aCircleOfRedirectsFails(door: FrontDoor, carrier: Carrier) async throws {
        try await carrier.withStage { stage in
            stage.on("/a", .redirect("/b"))
            stage.on("/b", .redirect("/a"))
            let report = try await door.send(stage.request("/a"))
            #expect(report.outcome == .failure(.redirectLoop))
        }
    }

    @Test(arguments: FrontDoor.allCases, Carrier.allCases)
    func aWaitForASlotIsBounded(door: FrontDoor, carrier: Carrier) async throws {
        let clock = ManualClock()
        try await carrier.withStage {
            $0.use(clock)
            $0.limits.perHost = 1
        } _: { stage in
            stage.on("/a", .silence)
            let first = stage.request("/a").start()
            try await stage.waitForSilence()
            let report = try await door.send(stage.request("/a") { $0.timeouts.queue = .seconds(5) }) { _ in
                await clock.waitForTimers(1)
                clock.advance(by: .seconds(6))
                first.cancel()
            }
            #expect(report.outcome == .failure(.queueTimeout))
        }
    }

    // REQ-1, YTK-1
    @Test(arguments: FrontDoor.allCases, Carrier.allCases)
    func aRequestMayStartAgain(door: FrontDoor, carrier: Carrier) async throws {
        try await carrier.withStage { stage in
            stage.enqueue(.ok("first"))
            stage.enqueue(.ok("second"))
            let request = stage.request("/a")
            let first = try await door.send(request)
            let second = try await door.send(request)
            #expect(first.outcome == .success("first"))
            #expect(second.outcome == .success("second"))
        }
    }

    // MARK: Order

    @Test(arguments: [FrontDoor.closures, .delegate], Carrier.allCases)
    func theHeadThenProgressThenTheResultThenTheEnd(door: FrontDoor, carrier: Carrier) async throws {
        try await carrier.withStage { stage in
            stage.on("/a", .body(100_000))
            let report = try await door.send(stage.request("/a") { $0.acceptsCompression = false })
            #expect(report.calls.first == "head 200")
            #expect(Array(report.calls.suffix(3)) == ["received 100000/100000", "success", "end"])
            let counts = report.calls.filter { $0.hasPrefix("received ") }.compactMap { call in
                call.dropFirst("received ".count).split(separator: "/").first.flatMap { Int($0) }
            }
            #expect(counts == counts.sorted() && Set(counts).count == counts.count)
            #expect(report.calls.count == counts.count + 3)
        }
    }

    @Test(arguments: [FrontDoor.closures, .delegate], Carrier.allCases)
    func aFailureIsToldOnceAndThenTheEnd(door: FrontDoor, carrier: Carrier) async throws {
        try await carrier.withStage { stage in
            stage.on("/a", .status(404))
            let report = try await door.send(stage.request("/a"))
            #expect(report.calls == ["failure", "end"])
        }
    }
}
