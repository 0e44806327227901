import CleanSlate
import Foundation
import Glibc
import Persistence
@_spi(Census) import ScopedNet
import SystemSupport
import TestProcesses

/// Plays one scenario: with unrelated requests beside it, and a look at what is left afterwards.
final class Stage: Sendable {
    let scenario: Scenario
    /// The server of the scenario's requests.
    let url: String
    private let unrelatedURL: String
    /// A folder of this run's own.
    let folder: String
    /// Whether there is time: everything at full length (`Scripts/test --soak`).
    let isThorough = ProcessInfo.processInfo.environment["SCOPEDNET_SOAK"] == "1"

    private let findings: Lock<ProbeVerdict>
    private let runs = Lock<[TrackedRun]>([])
    private let unrelated = Lock<UnrelatedRequests?>(nil)
    private let current = Lock<Session?>(nil)

    init(scenario: Scenario, url: String, unrelatedURL: String, folder: String) {
        (self.scenario, self.url, self.unrelatedURL, self.folder) = (scenario, url, unrelatedURL, folder)
        findings = Lock(ProbeVerdict(scenario: scenario.rawValue))
    }

    var verdict: ProbeVerdict { findings.withLock { $0 } }

    /// So many rounds; more when there is time.
    func rounds(_ few: Int, thorough many: Int) -> Int { isThorough ? many : few }

    // MARK: For scenarios

    /// The session that most requests of a scenario are made with; the unrelated ones share its network thread.
    var session: Session {
        guard let session = current.withLock({ $0 }) else { preconditionFailure("only while a scenario plays") }
        return session
    }

    func path(_ name: String) -> String { folder + "/" + name }

    /// A session that differs in what `change` sets, on the same network thread.
    func session(_ change: (inout Session.Configuration) -> Void) -> Session { session.with(change) }

    func expect(_ holds: Bool, _ problem: @autoclosure () -> String) {
        if !holds { complain(problem()) }
    }

    func complain(_ problem: String) { findings.withLock { $0.problems.append(problem) } }
    func note(_ name: String, _ value: Double) { findings.withLock { $0.figures[name] = value } }
    func note(_ name: String, _ value: Int) { note(name, Double(value)) }
    /// Milliseconds; the largest that was ever noted.
    func noteMost(_ name: String, _ value: Duration) {
        findings.withLock { $0.figures["\(name) most ms"] = max($0.figures["\(name) most ms"] ?? 0, value / .milliseconds(1)) }
    }

    /// Starts a run whose end is counted.
    func start<Value>(_ name: String, _ request: Request<Value>, in bag: DeallocBag? = nil) -> TrackedRun {
        let run = TrackedRun(name: name)
        runs.withLock { $0.append(run) }
        run.start(request, in: bag)
        return run
    }

    /// Waits for the end of a run that is to come within a time; complains when it does not.
    @discardableResult
    func end(of run: TrackedRun, within limit: Duration = .seconds(20)) async -> EndReason? {
        guard await Self.finishes(within: limit, { await run.end() }) else {
            complain("\(run.name): no end within \(limit)")
            return nil
        }
        return run.reason
    }

    /// A run that has to fail with one of these codes.
    func expectFailure(_ codes: Set<NetworkError.Code>, of run: TrackedRun, within limit: Duration = .seconds(20)) async {
        guard let reason = await end(of: run, within: limit) else { return }
        expect(reason.error.map { codes.contains($0.code) } ?? false, "\(run.name): \(reason) where \(codes) was due")
    }

    /// A run that has to succeed.
    func expectSuccess(of run: TrackedRun, within limit: Duration = .seconds(20)) async {
        guard let reason = await end(of: run, within: limit) else { return }
        expect(reason.isSuccess, "\(run.name): \(reason)")
    }

    /// Leaves unrelated requests that were under way then out of the judgement, as the whole process stood still.
    func excuse(_ pause: ClosedRange<ContinuousClock.Instant>) { unrelated.withLock { $0 }?.excuse(pause) }

    /// Whether an operation ends within a time. One that does not goes on.
    static func finishes(within limit: Duration, _ operation: @escaping @Sendable () async -> Void) async -> Bool {
        let (results, result) = AsyncStream.makeStream(of: Bool.self)
        let task = Task {
            await operation()
            result.yield(true)
        }
        let alarm = Task {
            try await Task.sleep(for: limit)
            task.cancel()
            result.yield(false)
        }
        defer { alarm.cancel() }
        for await isDone in results { return isDone }
        return false
    }

    /// What blocks gets a thread of its own.
    static func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value { await ProgramRun.onThread(body) }

    // MARK: The course of a scenario

    func run() async {
        watch()
        await warmUp()
        let before = ProcessInventory.now()
        await play()
        await checkRest(before)
        let runs = runs.withLock { $0 }
        note("runs", runs.count)
        for problem in runs.compactMap(\.problem).prefix(5) { complain(problem) }
    }

    /// Not inlined, so that its sessions are gone when it returns.
    @inline(never)
    private func play() async {
        var configuration = Session.Configuration(agent: RequestAgent())
        configuration.proxy = .none
        configuration.limits.perHost = 16
        let session = Session(configuration: configuration)
        current.withLock { $0 = session }
        defer { current.withLock { $0 = nil } }
        let others = RequestAgent()
        let unrelated = UnrelatedRequests(session: session.with { $0.agent = others }, url: unrelatedURL)
        self.unrelated.withLock { $0 = unrelated }
        defer { self.unrelated.withLock { $0 = nil } }
        unrelated.begin(connects: scenario.connects)
        do { try await scenario.play(on: self) } catch { complain("\(error)") }
        await unrelated.end()
        findings.withLock { unrelated.judge(into: &$0) }
        for agent in [session.agent, others] {
            expect(await Self.finishes(within: .seconds(20)) { await agent.waitUntilIdle() }, "\(agent.liveCount) runs never end")
        }
    }

    /// The platform opens some things when they are first needed and keeps them.
    private func warmUp() async {
        await sendFirst()
        try? await Task.sleep(for: .milliseconds(1))
        // One descriptor for each of its clocks, and Dispatch traps where it cannot have it.
        await withCheckedContinuation { continuation in
            DispatchQueue.global().asyncAfter(wallDeadline: .now() + .milliseconds(1)) { continuation.resume() }
        }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) { continuation.resume() }
        }
        await settle { LiveObjects.snapshot().total == 0 && !ProcessInventory.now().hasThreads }
    }

    /// Not inlined, so that its session is gone when it returns.
    @inline(never)
    private func sendFirst() async {
        var configuration = Session.Configuration(agent: RequestAgent())
        configuration.proxy = .none
        let session = Session(configuration: configuration)
        let outcome = await Self.outcome { try await session.get(self.unrelatedURL + "/json", as: [Int].self).value() }
        if let outcome { complain("before anything happened: \(outcome)") }
        await session.shutdown()
    }

    private static func outcome(_ body: @Sendable () async throws -> some Sendable) async -> (any Error)? {
        do {
            _ = try await body()
            return nil
        } catch { return error }
    }

    private func checkRest(_ before: ProcessInventory) async {
        await settle(within: scenario == .misbehaviour ? .milliseconds(500) : .seconds(20)) {
            ProcessInventory.now().excess(over: before) == nil
        }
        if let excess = ProcessInventory.now().excess(over: before) { complain("left: \(excess)") }
    }

    /// Threads, descriptors and objects are counted from outside, and no event says that a count fell.
    func settle(within limit: Duration = .seconds(20), _ isRight: () -> Bool) async {
        let end = ContinuousClock.now + limit
        while !isRight(), ContinuousClock.now < end { try? await Task.sleep(for: .milliseconds(5)) }
    }

    /// Where nothing goes on, the verdict says so and the process ends.
    private func watch() {
        let limit = isThorough ? 570 : 100
        let thread = Thread { [self] in
            let end = ContinuousClock.now + .seconds(limit)
            while ContinuousClock.now < end { sleep(1) }
            complain("the probe hangs; \(LiveObjects.snapshot())")
            print(verdict.line)
            fflush(nil)
            _exit(3)
        }
        thread.start()
    }
}
