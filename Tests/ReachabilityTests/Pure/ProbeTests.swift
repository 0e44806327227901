import CleanSlate
import Synchronization
import Testing

@testable import Reachability

@Suite(.leavesNothing) struct ProbeScheduleTests {
    private func path(_ generation: UInt64, _ status: NetworkPath.Status = .satisfied, _ validation: NetworkPath.Validation = .unknown)
        -> NetworkPath
    {
        var path = NetworkPath(status: status)
        (path.generation, path.validation) = (generation, validation)
        return path
    }

    @Test func eachPathIsProbedOnceAndALossEndsTheProbe() {
        var schedule = ProbeSchedule()
        schedule.start()
        let paths = [path(1), path(1), path(2), path(1), path(3, .satisfied, .validated), path(4, .unsatisfied(.noRoute)), path(5)]
        var actions: [ProbeSchedule.Action] = []
        for path in paths { actions.append(schedule.pathDidChange(path)) }
        #expect(actions == [.probe(turn: 1), .none, .probe(turn: 2), .none, .none, .cancel, .probe(turn: 4)])
        #expect(schedule.isCurrent(turn: 4) && !schedule.isCurrent(turn: 2))
    }

    @Test func aCallThatWasUnderWayBeginsNothingAfterTheStop() {
        var schedule = ProbeSchedule()
        schedule.start()
        let begun = schedule.pathDidChange(path(1))
        let stopped = schedule.stop()
        let late = schedule.pathDidChange(path(2))
        #expect(begun == .probe(turn: 1) && stopped == .cancel && late == .none)
        #expect(!schedule.isCurrent(turn: 1), "what was decided before the stop is not begun after it")
    }

    @Test func aStartProbesTheSamePathAgain() {
        var schedule = ProbeSchedule()
        schedule.start()
        _ = schedule.pathDidChange(path(7))
        _ = schedule.stop()
        schedule.start()
        let again = schedule.pathDidChange(path(7))
        #expect(again == .probe(turn: 3))
    }
}

/// The probe in a monitor's life. Targets on this machine need no namespace.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(2))) struct ProberTests {
    /// Counts the probes under way, and those begun.
    private final class Probes: Sendable {
        let underWay = Atomic<Int>(0)
        let begun = Atomic<Int>(0)

        /// A probe that ends when it is cancelled, and not before.
        func hang() async throws -> ReachabilityProbe.Response {
            begun.add(1, ordering: .sequentiallyConsistent)
            underWay.add(1, ordering: .sequentiallyConsistent)
            defer { underWay.subtract(1, ordering: .sequentiallyConsistent) }
            try await Task.sleep(for: .seconds(3_600))
            return .init(status: 204)
        }

        func waitUntil(_ isRight: (Probes) -> Bool) async -> Bool {
            let deadline = ContinuousClock.now + .seconds(30)
            while !isRight(self), ContinuousClock.now < deadline { await Task.yield() }
            return isRight(self)
        }
    }

    private func monitor(_ get: @escaping @Sendable (String) async throws -> ReachabilityProbe.Response) -> ReachabilityMonitor {
        TestNetwork.raiseLoopback()
        var configuration = ReachabilityMonitor.Configuration()
        configuration.probe = ReachabilityProbe(url: "http://check.test/", get: get)
        return ReachabilityMonitor(target: .address(IPAddress(127, 0, 0, 1)), configuration: configuration)
    }

    @Test func noProbeOutlivesItsMonitor() async throws {
        let probes = Probes()
        for round in 0..<300 {
            let monitor = monitor { _ in try await probes.hang() }
            try monitor.start()
            // Now and then the thread is just about to tell of the path, and now and then it has.
            if round % 3 == 0 { for _ in 0..<round % 50 { await Task.yield() } }
            if round % 2 == 0 { monitor.stop() }
        }
        let isQuiet = await probes.waitUntil { $0.underWay.load(ordering: .sequentiallyConsistent) == 0 }
        #expect(isQuiet)
    }

    @Test func aStartAfterAStopProbesAgain() async throws {
        let probes = Probes()
        let monitor = monitor { _ in try await probes.hang() }
        for round in 1...20 {
            try monitor.start()
            let isBegun = await probes.waitUntil { $0.begun.load(ordering: .sequentiallyConsistent) == round }
            #expect(isBegun, "once in each life: \(probes.begun.load(ordering: .sequentiallyConsistent)) in \(round)")
            monitor.stop()
            let isOver = await probes.waitUntil { $0.underWay.load(ordering: .sequentiallyConsistent) == 0 }
            #expect(isOver)
        }
    }

    @Test func aVerdictIsOfItsTimeOnly() async throws {
        let answers = Atomic<Int>(0)
        let box = Box(answers)
        let monitor = monitor { _ in
            // Good at first; after the stop there is a portal.
            let count = box.answers.add(1, ordering: .sequentiallyConsistent).newValue
            return count == 1 ? .init(status: 204) : .init(status: 302, location: "http://portal.test/")
        }
        try monitor.start()
        for await path in monitor.paths where path.validation == .validated { break }
        monitor.stop()
        #expect(monitor.currentPath?.validation == .validated, "as it was at the stop")
        try monitor.start()
        #expect(monitor.currentPath?.validation != .validated, "nobody has asked yet")
        for await path in monitor.paths where path.validation == .captivePortal(url: "http://portal.test/") { break }
        monitor.stop()
    }

    private final class Box: Sendable {
        let answers: Atomic<Int>
        init(_ answers: consuming Atomic<Int>) { self.answers = answers }
    }
}
