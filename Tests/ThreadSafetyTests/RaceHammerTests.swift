import CleanSlate
import Dispatch
import Foundation
import Synchronization
import SystemSupport
import Testing

@_spi(Transport) @testable import ScopedNet

/// Eight threads start, cancel, drop and end at random. Each run must end exactly once, and nothing may be called after a silence was promised
/// (THR-2, defect 28).
@Suite(.leavesNothing(objects: false), .serialized, .aloneBesideServers) struct RaceHammerTests {
    /// What one run was told, from any thread.
    final class Record: Sendable {
        let outcomes = Atomic<Int>(0)
        let ends = Atomic<Int>(0)
        let silent = Atomic<Bool>(false)
        let mayBeDropped: Bool
        init(mayBeDropped: Bool) { self.mayBeDropped = mayBeDropped }
    }

    final class Tally: Sendable {
        let late = Atomic<Int>(0)
        let double = Atomic<Int>(0)
        let started = Atomic<Int>(0)
        let ended = Atomic<Int>(0)
        let succeeded = Atomic<Int>(0)
        let refused = Atomic<Int>(0)
    }

    final class Slot<Value>: Sendable {
        private let value: Lock<Value>
        init(_ value: sending Value) { self.value = Lock(value) }
        func withLock<Result>(_ body: (inout Value) -> Result) -> Result { value.withLock(body) }
    }

    final class Arena: Sendable {
        let session: Session
        let url: String
        let tally = Tally()
        let bags = (0..<8).map { _ in Slot(DeallocBag()) }
        let runs = (0..<64).map { _ in Slot<(Run, Record)?>(nil) }

        init(session: Session, url: String) {
            self.session = session
            self.url = url
        }
    }

    private func attempt(_ arena: Arena, _ random: inout SplitMix) {
        let record = Record(mayBeDropped: false)
        let tally = arena.tally
        let dice = random.next()
        let strategies: [ReleaseStrategy] = [.untilFinished, .untilFinished, .untilFinished, .cancelOnRelease, .detached]
        let strategy = strategies[Int(dice % 5)]
        // A detached transfer that is never answered would outlive the test.
        let path = dice >> 8 & 15 == 0 && strategy != .detached ? "/hang" : "/a"
        let request = arena.session.request(arena.url + path).options { options in
            options.release = strategy
            if dice >> 16 & 15 == 0 {
                options.repeats = dice >> 20 & 1 == 0 ? .cancelOldest : .cancelNewest
                options.repeats.key = "key \(dice >> 24 & 3)"
            }
        }
        .onSuccess { _ in Self.called(record, tally, isSuccess: true) }
        .onFailure { _ in Self.called(record, tally, isSuccess: false) }
        .onEnd { _ in
            if record.ends.add(1, ordering: .relaxed).oldValue != 0 { tally.double.add(1, ordering: .relaxed) }
            tally.ended.add(1, ordering: .relaxed)
        }
        if dice >> 32 & 3 == 0 {
            _ = request.onDownloadProgress { _ in
                if record.silent.load(ordering: .sequentiallyConsistent) { tally.late.add(1, ordering: .relaxed) }
            }
        }
        let bag = arena.bags[Int(dice >> 36 & 7)].withLock { $0 }
        let result = dice >> 40 & 3 == 0 ? request.start() : request.start(in: bag)
        guard !result.wasRefused else {
            tally.refused.add(1, ordering: .relaxed)
            return
        }
        tally.started.add(1, ordering: .relaxed)
        let old = arena.runs[Int(dice >> 44 & 63)].withLock { slot in
            defer { slot = (result, record) }
            return slot
        }
        if dice >> 50 & 3 == 0, let old { cancel(old.0, old.1) }
        if dice >> 51 & 7 == 0 { cancel(result, record) }
        if dice >> 54 & 255 == 0 { replaceBag(arena, Int(dice >> 60 & 7)) }
        if dice >> 54 & 255 == 7 { arena.bags[Int(dice >> 60 & 7)].withLock { $0 }.insert(result) }
    }

    private func cancel(_ run: Run, _ record: Record) {
        if run.cancel() == .cancelled { record.silent.store(true, ordering: .sequentiallyConsistent) }
    }

    private func replaceBag(_ arena: Arena, _ index: Int) {
        let fresh = DeallocBag()
        let old = arena.bags[index].withLock { bag in
            defer { bag = fresh }
            return bag
        }
        _ = old
    }

    private static func called(_ record: Record, _ tally: Tally, isSuccess: Bool) {
        if record.silent.load(ordering: .sequentiallyConsistent) { tally.late.add(1, ordering: .relaxed) }
        if record.outcomes.add(1, ordering: .relaxed).oldValue != 0 { tally.double.add(1, ordering: .relaxed) }
        if isSuccess { tally.succeeded.add(1, ordering: .relaxed) }
    }

    private func hammer(_ arena: Arena, attempts: Int) async {
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<8 {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        Thread.detachNewThread {
                            var random = SplitMix(seed: UInt64(thread) + 1)
                            for round in 0..<attempts / 8 {
                                attempt(arena, &random)
                                // Most runs shall get through; what hangs is swept away now and then.
                                if thread == 0, round & 1023 == 1023 { arena.session.agent.cancelAll() }
                                waitForRoom(arena)
                            }
                            continuation.resume()
                        }
                    }
                }
            }
        }
        for bag in arena.bags { bag.withLock { $0 }.end() }
        for slot in arena.runs {
            let run = slot.withLock { slot in
                defer { slot = nil }
                return slot
            }
            _ = run
        }
        arena.session.agent.cancelAll()
        await arena.session.agent.waitUntilIdle()
    }

    /// Keeps the backlog in bounds, so that most runs get through; what hangs is swept away. A pause, no wait: an event for each ending would
    /// line up the threads that are to collide.
    private func waitForRoom(_ arena: Arena) {
        for _ in 0..<2_000 {
            if arena.session.agent.liveCount < 300 { return }
            usleep(50)
        }
        arena.session.agent.cancelAll()
    }

    private func check(_ arena: Arena, _ name: String) {
        let tally = arena.tally
        let started = tally.started.load(ordering: .relaxed)
        print(
            "\(name), \(Self.share) of its length: \(started) runs, \(tally.succeeded.load(ordering: .relaxed)) succeeded, \(tally.refused.load(ordering: .relaxed)) refused, "
                + "\(tally.late.load(ordering: .relaxed)) late, \(tally.double.load(ordering: .relaxed)) double")
        #expect(tally.ended.load(ordering: .relaxed) == started, "every run ends once")
        #expect(tally.late.load(ordering: .relaxed) == 0)
        #expect(tally.double.load(ordering: .relaxed) == 0)
        #expect(arena.session.agent.liveCount == 0)
        let statistics = arena.session.statistics
        #expect(statistics.started == started && statistics.running == 0, "\(statistics)")
        #expect(statistics.succeeded >= tally.succeeded.load(ordering: .relaxed))
        #expect(arena.session.admission.activeCount == 0)
        #expect(arena.session.admission.waitingCount == 0)
        for bag in arena.bags { #expect(bag.withLock { $0 }.count == 0) }
    }

    /// The divisor of the full length, which `SCOPEDNET_SOAK=1` asks for: twenty, or a hundred with `SCOPEDNET_QUICK=1`.
    private static let divisor: Int = {
        let environment = ProcessInfo.processInfo.environment
        return environment["SCOPEDNET_SOAK"] == "1" ? 1 : environment["SCOPEDNET_QUICK"] == "1" ? 100 : 20
    }()

    private static var share: String { divisor == 1 ? "all" : "1/\(divisor)" }
    private static func scaled(_ count: Int) -> Int { count / divisor }

    // Defect 20
    @Test func againstAChaoticTransport() async throws {
        let chaos = ChaosTransport()
        var configuration = Session.Configuration(customTransport: chaos, agent: RequestAgent())
        configuration.limits.perHost = 200
        configuration.limits.total = 200
        let arena = Arena(session: Session(configuration: configuration), url: "http://chaos")
        await hammer(arena, attempts: Self.scaled(2_080_000))
        // The agent is idle before the last cancelled transfers have come back with their slots.
        chaos.settle()
        check(arena, "chaos")
    }

    @Test func againstLibcurl() async throws {
        let server = try PlainServer()
        var configuration = Session.Configuration(agent: RequestAgent())
        configuration.proxy = .none
        configuration.limits.perHost = 32
        let arena = Arena(session: Session(configuration: configuration), url: "http://127.0.0.1:\(server.port)")
        await hammer(arena, attempts: Self.scaled(160_000))
        await arena.session.shutdown()
        check(arena, "libcurl")
        server.stop()
    }

    /// Awaits cancelled from eight threads: each is resumed once, and none hangs.
    @Test func awaitsCancelledAtRandom() async throws {
        var configuration = Session.Configuration(customTransport: ChaosTransport(), agent: RequestAgent())
        configuration.limits.perHost = 200
        configuration.limits.total = 200
        let session = Session(configuration: configuration)
        let resumed = Tally()
        let count = Self.scaled(100_000)
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<count {
                group.addTask {
                    let task = Task { try? await session.send("http://chaos/\(index & 3)") }
                    if index & 1 == 0 { task.cancel() }
                    _ = await task.value
                    resumed.ended.add(1, ordering: .relaxed)
                }
                if index & 255 == 255 { await group.next() }
            }
        }
        await session.agent.waitUntilIdle()
        #expect(resumed.ended.load(ordering: .relaxed) == count)
        #expect(session.agent.liveCount == 0)
    }
}
