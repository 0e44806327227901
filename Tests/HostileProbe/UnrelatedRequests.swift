import Foundation
import ScopedNet
import SystemSupport
import TestProcesses

/// Requests that have nothing to do with the trouble. They share the network thread, the work pool and the agent of the process with those that
/// have, and must not feel it.
final class UnrelatedRequests: Sendable {
    private struct Sample {
        let began: ContinuousClock.Instant
        let ended: ContinuousClock.Instant
        /// Milliseconds more than it was to take.
        let excess: Double
        let isClocked: Bool
        let problem: String?
    }

    /// The clock of those that nobody answers.
    private static let clock = Duration.milliseconds(500)
    /// Milliseconds: far below what any scenario lasts, far above what a busy machine costs.
    static let patience = 1_000.0

    private let session: Session
    private let url: String
    private let samples = Lock<[Sample]>([])
    private let pauses = Lock<[ClosedRange<ContinuousClock.Instant>]>([])
    private let isOver = Lock(false)
    private let tasks = Lock<[Task<Void, Never>]>([])

    init(session: Session, url: String) { (self.session, self.url) = (session, url) }

    /// - Parameter connects: whether to send those that nobody answers, too. Each takes a connection of its own.
    func begin(connects: Bool) {
        let answered = Task { [self] in await repeatedly { await $0.sendAnswered() } }
        let unanswered = Task { [self] in if connects { await repeatedly { await $0.sendUnanswered() } } }
        tasks.withLock { $0 = [answered, unanswered] }
    }

    func end() async {
        isOver.withLock { $0 = true }
        let tasks = tasks.withLock { tasks in
            defer { tasks = [] }
            return tasks
        }
        for task in tasks { await task.value }
    }

    /// Leaves out of the judgement what was under way while the whole process stood still.
    func excuse(_ pause: ClosedRange<ContinuousClock.Instant>) { pauses.withLock { $0.append(pause) } }

    private func repeatedly(_ send: @Sendable (UnrelatedRequests) async -> Void) async {
        while !isOver.withLock({ $0 }) {
            await send(self)
            // A load, not a wait for anything.
            try? await Task.sleep(for: .milliseconds(10))
        }
    }

    private func sendAnswered() async {
        let began = ContinuousClock.now
        var problem: String?
        do throws(NetworkError) {
            let numbers = try await session.get(url + "/json", as: [Int].self).value()
            if numbers != [1, 2, 3] { problem = "another value: \(numbers)" }
        } catch {
            problem = "\(error)"
        }
        add(began, .zero, isClocked: false, problem)
    }

    private func sendUnanswered() async {
        let began = ContinuousClock.now
        var problem: String?
        do throws(NetworkError) {
            _ = try await session.request(url + "/never").options { $0.timeouts.total = Self.clock }.value()
            problem = "answered"
        } catch {
            if error.code != .totalTimeout { problem = "\(error)" }
        }
        add(began, Self.clock, isClocked: true, problem)
    }

    private func add(_ began: ContinuousClock.Instant, _ clock: Duration, isClocked: Bool, _ problem: String?) {
        let ended = ContinuousClock.now
        let excess = (began.duration(to: ended) - clock) / .milliseconds(1)
        samples.withLock { $0.append(Sample(began: began, ended: ended, excess: excess, isClocked: isClocked, problem: problem)) }
    }

    func judge(into verdict: inout ProbeVerdict) {
        let pauses = pauses.withLock { $0 }
        let samples = samples.withLock { $0 }
        for problem in Set(samples.compactMap(\.problem)) { verdict.problems.append("an unrelated request: \(problem)") }
        let judged = samples.filter { sample in !pauses.contains { $0.overlaps(sample.began...sample.ended) } }
        for (isClocked, name) in [(false, "unrelated"), (true, "unrelated clock")] {
            let excesses = judged.filter { $0.isClocked == isClocked }.map(\.excess).sorted()
            guard let most = excesses.last, let least = excesses.first else { continue }
            verdict.figures[name] = Double(excesses.count)
            verdict.figures["\(name) median ms"] = excesses[excesses.count / 2]
            verdict.figures["\(name) most ms"] = most
            if most > Self.patience { verdict.problems.append("\(name): one took \(Int(most)) ms more than it was to take") }
            // A millisecond is what timers round by.
            if least < -1 { verdict.problems.append("\(name): one ended \(-least) ms too early") }
        }
        if judged.isEmpty { verdict.problems.append("no unrelated request was sent") }
    }
}
