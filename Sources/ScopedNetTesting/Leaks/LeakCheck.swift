internal import Glibc
@_spi(Census) internal import ScopedNet

/// Reads nil once the object's deinit has begun.
struct Probe<Object: AnyObject> {
    weak var object: Object?
}

/// Lets an object go and looks whether it went, and its requests with it. The front doors differ in how they wait and in how they fail.
struct LeakCheck<Object: AnyObject> {
    let census: LeakCensus
    let isScope: Bool
    private(set) var probe = Probe<Object>(object: nil)
    private var started: [LeakCensus.Entry] = []

    /// - Parameter isScope: the object's requests have to end with it.
    init(isScope: Bool) {
        self.isScope = isScope
        census = LeakCensus(keepsEndings: isScope)
    }

    // Both in functions of their own: when they return, nothing here holds the object. What an owner starts in a task (`bag.task`) begins after
    // `use` has returned, so a scope gets until the deadline to have a request in flight.

    mutating func makeAndDrop(within deadline: Duration, _ make: () throws -> Object, _ use: (Object) throws -> Void) rethrows {
        let (probe, started) = try census.listen { [census, isScope] in
            let object = try make()
            try use(object)
            if isScope { census.waitRunningTheLoop(within: deadline) { !census.runs.isEmpty } }
            return (Probe(object: object), census.runs)
        }
        self.probe = probe
        self.started = started
    }

    mutating func makeAndDrop(
        within deadline: Duration, _ make: () async throws -> Object, _ use: (Object) async throws -> Void
    ) async rethrows {
        let (probe, started) = try await census.listen { [census, isScope] in
            let object = try await make()
            try await use(object)
            if isScope { await census.wait(within: deadline) { !census.runs.isEmpty } }
            return (Probe(object: object), census.runs)
        }
        self.probe = probe
        self.started = started
    }

    /// Nothing is left to wait for.
    var isOver: Bool {
        guard probe.object == nil else { return false }
        return !isScope || census.runs.allSatisfy { $0.member.object?.censusState.isOver ?? true }
    }

    /// How a run ended that is gone. One that is just going reads nil already and says a moment later how it ended: that moment is waited for.
    private func lastWord(of entry: LeakCensus.Entry) -> CensusEnding? {
        let deadline = ContinuousClock.now + .seconds(1)
        while true {
            if let known = census.endings.first(where: { $0.birth.number == entry.birth.number }) { return known.ending }
            guard entry.member.object == nil, ContinuousClock.now < deadline else { return nil }
            sched_yield()
        }
    }

    /// What is wrong, if anything. Ask when it is over or the deadline has passed.
    func failure(after deadline: Duration) -> String? {
        let name = "\(Object.self)"
        if let object = probe.object {
            let survival = "\(name) is still alive, \(deadline) after the last reference to it here was let go."
            return ([survival] + explanation(of: object)).joined(separator: "\n")
        }
        if let forgotten = census.forgottenStarts.first { return "\(name) went, and a request was never started: \(forgotten)" }
        guard isScope else { return nil }
        if started.isEmpty { return "No request of \(name) was in flight when it was let go: nothing was shown." }
        let faults = started.compactMap { fault($0) }
        return faults.isEmpty ? nil : "\(name) went, and not all its requests with it.\n" + faults.joined(separator: "\n")
    }

    /// The advice about what may hold the object, and what is alive beside it: not its bag, unless that holds more than requests.
    private func explanation(of object: Object) -> [String] {
        let report = census.report()
        let holders =
            (isHeldBySession(object) ? [LeakHolder(kind: .observer)] : []) + report.leaks.flatMap(\.holds).filter(\.mayHoldAnOwner)
        let advice = LeakHolder.advice(about: holders)
        let nothing =
            "Nothing that was made here is known to hold it: look for a cycle, a task or a closure of its own, and for an observer or an "
            + "onRequest closure of a session that was made elsewhere."
        return (advice.isEmpty ? [nothing] : advice) + report.paragraphs { !$0.holds.contains(LeakHolder(kind: .bag)) }
    }

    /// True if the object is an observer or interceptor of a session that is alive or in use.
    private func isHeldBySession(_ object: Object) -> Bool {
        let members = census.entries.compactMap(\.member.object)
        let sessions = members.compactMap { $0 as? Session ?? ($0 as? ManagedRun)?.session }
        return sessions.map(\.configuration).contains { configuration in
            let interceptors = configuration.options.interceptors.call + configuration.options.interceptors.exchange
            return configuration.observers.contains { $0 as AnyObject === object } || interceptors.contains { $0 as AnyObject === object }
        }
    }

    private func fault(_ entry: LeakCensus.Entry) -> String? {
        let run = "run \(entry.birth.number), started at \(entry.birth.origin),"
        let state = entry.member.object?.censusState
        let ending = state == nil ? lastWord(of: entry) : state?.ending
        switch ending {
        case .cancelled(let reason) where reason == .ownerReleased:
            guard let state else { return nil }
            if !state.isOver { return "\(run) was cancelled, but has not left its agent." }
            return state.closures.isEmpty ? nil : "\(run) was cancelled, and still holds \(state.closures.joined(separator: ", "))."
        case .cancelled(let reason): return "\(run) was cancelled by another: \(reason)."
        case .ended: return "\(run) was not cancelled, it came to its own end: \(question)"
        case .neverStarted, .forgotten, nil:
            return "\(run) was not cancelled: \(question)\n\(census.report(only: entry.birth.number))"
        }
    }

    /// A bag that outlives its owner cancels nothing.
    private var question: String {
        let bags = census.entries.filter { $0.birth.kind == .bag && $0.member.object?.censusState.isOver == false }
        guard !bags.isEmpty else { return "is it in the owner's bag?" }
        let names = bags.map { $0.birth.name == $0.birth.origin ? $0.birth.name : "\($0.birth.name) (\($0.birth.origin))" }
        return "is it in the owner's bag, and does a task or closure that captures the bag keep it alive? "
            + "Alive: the bag \(names.joined(separator: ", the bag "))."
    }
}

extension LeakCensus {
    /// The runs and operations that are alive and not over.
    var runs: [Entry] { entries.filter { [.run, .operation].contains($0.birth.kind) && $0.member.object?.censusState.isOver == false } }

    func report(only number: UInt64) -> LeakReport {
        let all = entries
        return LeakReport(entries: all.filter { $0.birth.number == number }, all: all)
    }
}
