internal import Dispatch
@_spi(Census) public import ScopedNet
import SystemSupport

/// Everything ScopedNet makes while one test (or one piece of it) runs: requests, runs, bags, sessions, streamed bodies.
///
/// A census follows the task, not the process: tests that run side by side do not see each other. What callbacks make belongs to it too.
/// The checks of this library use one; use it yourself to look.
///
/// ```swift
/// let census = LeakCensus()
/// await census.listen { await openAndCloseThePage() }
/// let report = await census.settle()
/// print(report)        // nothing alive
/// ```
public final class LeakCensus: CensusListener {
    struct Entry: Sendable {
        let birth: CensusBirth
        let member: WeakMember
    }

    struct WeakMember: Sendable {
        weak let object: (any CensusMember)?
    }

    private struct State {
        var alive: [UInt64: Entry] = [:]
        var endings: [UInt64: (birth: CensusBirth, ending: CensusEnding)] = [:]
        var forgotten: [String] = []
        var nextWatcher = 0
        var watchers: [Int: AsyncStream<Void>.Continuation] = [:]
    }

    private let state = Lock(State())
    /// The census around this one hears of everything too.
    private let outer = Census.listener

    private let keepsEndings: Bool

    /// Makes a census that hears nothing yet.
    public convenience init() { self.init(keepsEndings: false) }

    /// - Parameter keepsEndings: how each run ended is kept, and with it memory for each.
    init(keepsEndings: Bool) {
        self.keepsEndings = keepsEndings
        Census.open()
    }

    deinit { Census.close() }

    // MARK: Listening

    /// What `body` makes is counted.
    public func listen<Result>(_ body: () throws -> Result) rethrows -> Result {
        try Census.$listener.withValue(self) { try body() }
    }

    /// What `body` makes is counted.
    public func listen<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        try await Census.$listener.withValue(self) { try await body() }
    }

    package func born(_ birth: CensusBirth, _ member: some CensusMember) {
        outer?.born(birth, member)
        let entry = Entry(birth: birth, member: WeakMember(object: member))
        let watchers = state.withLock { state in
            state.alive[birth.number] = entry
            return Array(state.watchers.values)
        }
        for watcher in watchers { watcher.yield() }
    }

    package func died(_ number: UInt64, _ ending: CensusEnding?) {
        // A start that was forgotten is told once, by the innermost.
        if case .forgotten? = ending { outer?.died(number, nil) } else { outer?.died(number, ending) }
        let (entry, watchers) = state.withLock { state in
            let entry = state.alive.removeValue(forKey: number)
            if case .forgotten(let sentence)? = ending { state.forgotten.append(sentence) }
            if keepsEndings, let entry, let ending { state.endings[number] = (entry.birth, ending) }
            return (entry, Array(state.watchers.values))
        }
        _ = entry
        for watcher in watchers { watcher.yield() }
    }

    // MARK: Looking

    /// How many objects are alive.
    public var liveCount: Int { state.withLock { $0.alive.count } }

    /// What is alive right now, who holds it, and what that means.
    public func report(allowing allowed: Set<LeakReport.Kind> = []) -> LeakReport {
        LeakReport(
            entries: entries.filter { !allowed.contains(LeakReport.Kind($0.birth.kind)) }, all: entries,
            forgottenStarts: forgottenStarts)
    }

    /// Requests that went although closures were registered for their next start, a sentence each.
    var forgottenStarts: [String] { state.withLock { $0.forgotten } }

    var entries: [Entry] { state.withLock { $0.alive.values.sorted { $0.birth.number < $1.birth.number } } }

    /// How the runs ended that are gone.
    var endings: [(birth: CensusBirth, ending: CensusEnding)] {
        state.withLock { state in state.endings.values.sorted { $0.birth.number < $1.birth.number } }
    }

    func isClean(allowing allowed: Set<LeakReport.Kind>) -> Bool {
        state.withLock { state in state.alive.values.allSatisfy { allowed.contains(LeakReport.Kind($0.birth.kind)) } }
    }

    // MARK: Waiting

    /// Waits until nothing is alive, and says what is left after the deadline. By event: a clean test waits for nothing.
    public func settle(within deadline: Duration = .seconds(1), allowing allowed: Set<LeakReport.Kind> = []) async -> LeakReport {
        await wait(within: deadline) { self.isClean(allowing: allowed) }
        return report(allowing: allowed)
    }

    /// Asks `isReached` now, after each birth and death, and at the deadline.
    func wait(within deadline: Duration, until isReached: () -> Bool) async {
        if isReached() { return }
        // The newest wake-up is kept, so one that comes between a look and the next wait is not lost.
        let (wakeUps, watcher) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.nextWatcher += 1
            state.watchers[state.nextWatcher] = watcher
            return state.nextWatcher
        }
        let timer = SystemTiming().schedule(after: deadline) { watcher.finish() }
        watcher.yield()
        for await _ in wakeUps where isReached() { break }
        timer.cancel()
        _ = state.withLock { $0.watchers.removeValue(forKey: number) }
    }
}
