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

    private func started() -> ProbeSchedule {
        var schedule = ProbeSchedule()
        _ = schedule.follow(life: 1, isStarted: true)
        return schedule
    }

    @Test func eachPathIsProbedOnceAndALossEndsTheProbe() {
        var schedule = started()
        let paths = [path(1), path(1), path(2), path(1), path(3, .satisfied, .validated), path(4, .unsatisfied(.noRoute)), path(5)]
        var actions: [ProbeSchedule.Action] = []
        for path in paths { actions.append(schedule.pathDidChange(path)) }
        #expect(actions == [.probe(turn: 2), .none, .probe(turn: 3), .none, .none, .cancel, .probe(turn: 5)])
        #expect(schedule.isCurrent(turn: 5) && !schedule.isCurrent(turn: 3))
    }

    @Test func aCallThatWasUnderWayBeginsNothingAfterTheStop() {
        var schedule = started()
        let begun = schedule.pathDidChange(path(1))
        let stopped = schedule.follow(life: 2, isStarted: false)
        let late = schedule.pathDidChange(path(2))
        #expect(begun == .probe(turn: 2) && stopped == .cancel && late == .none)
        #expect(!schedule.isCurrent(turn: 2), "what was decided before the stop is not begun after it")
    }

    @Test func aStartProbesTheSamePathAgain() {
        var schedule = started()
        _ = schedule.pathDidChange(path(7))
        _ = schedule.follow(life: 2, isStarted: false)
        _ = schedule.follow(life: 3, isStarted: true)
        let again = schedule.pathDidChange(path(7))
        #expect(again == .probe(turn: 5))
    }

    /// Starts and stops are counted where they are decided; who tells of them may be overtaken.
    @Test func ofAStartAndAStopTheLaterCountsWhateverIsHeardFirst() {
        var schedule = ProbeSchedule()
        let stopped = schedule.follow(life: 4, isStarted: false)
        let late = schedule.follow(life: 3, isStarted: true)
        let idle = schedule.pathDidChange(path(7))
        #expect(stopped == .cancel && late == .none && idle == .none)
        let begun = schedule.follow(life: 7, isStarted: true)
        let probed = schedule.pathDidChange(path(7))
        let overtaken = schedule.follow(life: 6, isStarted: false)
        #expect(begun == .cancel && overtaken == .none)
        guard case .probe(let turn) = probed else { return #expect(probed == .probe(turn: 0)) }
        #expect(schedule.isCurrent(turn: turn), "the stop was of an earlier life")
    }
}

/// The probe in a monitor's life. Targets on this machine need no namespace.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(5))) struct ProberTests {
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

    /// However starts and stops overtake each other: a started monitor has its probe, a stopped one has none.
    @Test func aProbeIsThereWhileTheMonitorIsStartedAndNotLonger() async throws {
        let probes = Probes()
        let monitor = monitor { _ in try await probes.hang() }
        for round in 0..<400 {
            await withTaskGroup(of: Void.self) { group in
                for worker in 0..<4 {
                    group.addTask {
                        for step in 0..<3 {
                            if (worker + step + round) % 2 == 0 { try? monitor.start() } else { monitor.stop() }
                        }
                    }
                }
            }
            let expected = monitor.isStarted ? 1 : 0
            let isRight = await probes.waitUntil { $0.underWay.load(ordering: .sequentiallyConsistent) == expected }
            #expect(isRight, "round \(round): \(probes.underWay.load(ordering: .sequentiallyConsistent)), and not \(expected)")
            if !isRight { break }
        }
        monitor.stop()
        let isQuiet = await probes.waitUntil { $0.underWay.load(ordering: .sequentiallyConsistent) == 0 }
        #expect(isQuiet)
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
