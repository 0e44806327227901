import CleanSlate
import Foundation
import ScopedNetTestServer
import SystemSupport
import Testing

@_spi(Census) @testable import ScopedNet

/// Very many requests in one process, over a real transport with kept connections, through all doors and with cancels among them: afterwards the
/// process is as large as before. 1,000,000 with `SCOPEDNET_SOAK=1`, a few thousand otherwise; what it prints is the record (`docs/soak.md`).
@Suite(.leavesNothing(objects: false), .serialized, .alone, .timeLimit(.minutes(180))) struct SoakTests {
    private static let isSoaking = ProcessInfo.processInfo.environment["SCOPEDNET_SOAK"] == "1"
    private static let rounds = isSoaking ? 1_000_000 : 5_000
    /// Enough for every buffer, pool and table to have its size.
    private static let warmUp = isSoaking ? 50_000 : 1_000

    @Test func theProcessStaysAsItIs() async throws {
        var configuration = LoopbackServer.Configuration()
        configuration.recordsRequests = false
        try await withLoopbackServer(configuration) { server in
            server.on("/a", .ok("hello"))
            server.on("/stall", .ok("late").stalling(.beforeHead))
            try await withSession { session in
                let began = ContinuousClock.now
                var counts = SoakCounts()
                try await Self.send(Self.warmUp, session, server, &counts)
                let before = try await SoakReading.now(server)
                for _ in 1...10 {
                    try await Self.send(Self.rounds / 10, session, server, &counts)
                    if Self.isSoaking { print("soak: \(counts.total) requests, \(try await SoakReading.now(server))") }
                }
                let after = try await SoakReading.now(server)
                let seconds = (ContinuousClock.now - began) / .seconds(1)
                print("soak: \(counts)")
                print("soak: \(before) → \(after), \(Int(Double(counts.total) / seconds)) requests a second")
                #expect(counts.total == Self.warmUp + Self.rounds)
                #expect(counts.failed == 0)
                #expect(counts.cancelled == counts.toBeCancelled)
                // Other suites open and close beside a short run; a long one is alone.
                guard Self.isSoaking else { return }
                // The scripted server shares the process; its connections come and go with the cancels.
                #expect(after.descriptors <= before.descriptors + 2 * Self.inFlight)
                #expect(after.threads <= before.threads + 2)
                #expect(after.runs == 0 && after.easyHandles <= Self.inFlight + 1 && after.bags == before.bags)
                // Sixteen bytes for each request: a leaked run has more than a hundred times that.
                #expect(after.residentKiB - before.residentKiB < 16 << 10)
            }
        }
    }

    private static let inFlight = 16

    /// So many requests, a few at a time.
    private static func send(_ count: Int, _ session: Session, _ server: LoopbackServer, _ counts: inout SoakCounts) async throws {
        let tally = SoakTally()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<inFlight {
                group.addTask {
                    for number in stride(from: worker, to: count, by: inFlight) {
                        await SoakDoor(rawValue: number % SoakDoor.allCases.count)?.send(session, server.url, tally)
                    }
                }
            }
            try await group.waitForAll()
        }
        await session.agent.waitUntilIdle()
        server.releaseStalls()
        counts.add(tally.counts.withLock { $0 })
    }
}

/// What was done.
struct SoakCounts: Sendable, CustomStringConvertible {
    var succeeded = 0
    var failed = 0
    var cancelled = 0
    var toBeCancelled = 0
    var total: Int { succeeded + failed + cancelled }

    mutating func add(_ other: SoakCounts) {
        succeeded += other.succeeded
        failed += other.failed
        cancelled += other.cancelled
        toBeCancelled += other.toBeCancelled
    }

    var description: String { "\(total) requests: \(succeeded) succeeded, \(cancelled) cancelled, \(failed) failed" }
}

final class SoakTally: Sendable {
    let counts = Lock(SoakCounts())
}

/// The doors in turn: of eight requests one is awaited and cancelled, one ends with its bag.
enum SoakDoor: Int, CaseIterable {
    case closures, delegate, awaiting, owner, awaitingAgain, bagEnds, closuresAgain, taskCancelled

    private final class Owner: RequestOwner, Sendable { let deallocBag = DeallocBag() }

    private final class Listener: RequestDelegate, Sendable {
        let ended = Latch()
        let succeeded = Counter()
        func request(_ run: Run.Info, didSucceedWith value: any Sendable, response: ResponseHead) { succeeded.add() }
        func requestDidEnd(_ run: Run.Info) { ended.open() }
    }

    func send(_ session: Session, _ url: String, _ tally: SoakTally) async {
        switch self {
        case .awaiting, .awaitingAgain:
            let isGood = (try? await session.request(url + "/a").value())?.count == 5
            tally.counts.withLock { if isGood { $0.succeeded += 1 } else { $0.failed += 1 } }
        case .closures, .closuresAgain, .owner:
            let ended = Latch()
            let succeeded = Counter()
            let owner = Owner()
            let request = session.request(url + "/a").onSuccess { if $0.count == 5 { succeeded.add() } }.onEnd { _ in ended.open() }
            if self == .owner { request.start(for: owner) } else { request.start() }
            await ended.wait()
            tally.counts.withLock { if succeeded.value == 1 { $0.succeeded += 1 } else { $0.failed += 1 } }
        case .delegate:
            let listener = Listener()
            session.request(url + "/a").delegate(sendable: listener).start()
            await listener.ended.wait()
            tally.counts.withLock { if listener.succeeded.value == 1 { $0.succeeded += 1 } else { $0.failed += 1 } }
        case .bagEnds, .taskCancelled: await cancel(session, url, tally)
        }
    }

    private func cancel(_ session: Session, _ url: String, _ tally: SoakTally) async {
        let ended = Latch()
        let cancelled = Counter()
        let request = session.request(url + "/stall").onEnd { reason in
            if case .cancelled = reason { cancelled.add() }
            ended.open()
        }
        if self == .bagEnds {
            var owner: Owner? = Owner()
            if let owner { request.start(for: owner) }
            owner = nil
        } else {
            let task = Task { try? await request.value() }
            // Half of them before the task has begun, half of them while it waits.
            await Task.yield()
            task.cancel()
            _ = await task.value
        }
        await ended.wait()
        tally.counts.withLock {
            $0.toBeCancelled += 1
            if cancelled.value == 1 { $0.cancelled += 1 } else { $0.failed += 1 }
        }
    }
}

/// How large the process is.
struct SoakReading: Sendable, CustomStringConvertible {
    let residentKiB: Int
    let descriptors: Int
    let threads: Int
    let runs: Int
    let bags: Int
    let easyHandles: Int

    static func now(_ server: LoopbackServer) async throws -> SoakReading {
        try await server.waitForClientsToLeave()
        let status = FileManager.default.contents(atPath: "/proc/self/status").map { String(decoding: $0, as: UTF8.self) } ?? ""
        func number(_ name: String) -> Int {
            status.split(separator: "\n").first { $0.hasPrefix(name + ":") }?.split(whereSeparator: \.isWhitespace).dropFirst().first
                .flatMap { Int($0) } ?? -1
        }
        let live = LiveObjects.snapshot()
        return SoakReading(
            residentKiB: number("VmRSS"), descriptors: (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? -1,
            threads: number("Threads"), runs: live[.run], bags: live[.bag], easyHandles: live[.easyHandle])
    }

    var description: String {
        "RSS \(residentKiB) KiB, \(descriptors) descriptors, \(threads) threads, \(runs) runs, \(bags) bags, \(easyHandles) easy handles"
    }
}
