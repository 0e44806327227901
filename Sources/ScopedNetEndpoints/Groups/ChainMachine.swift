/// The decisions of a ``Chain``: which step begins when, and how the whole ends. (pure)
///
/// One step is under way at a time. A step with a closure has ended when the closure has returned, so that what the closure appends is part of the chain.
struct ChainMachine: Hashable, Sendable {
    /// One thing to be done; several come in their order.
    enum Step: Hashable, Sendable {
        /// Begin a step.
        case begin(Int)
        /// Hand the value of a step to its closure, and say when that has returned.
        case handOver(Int)
        /// Say that so many steps have ended, of so many that are known.
        case report(ended: Int, total: Int)
        /// All have ended as they should.
        case succeed
        /// This step's failure is the chain's; those behind it are dropped.
        case fail(Int)
    }

    /// The end of the work of a step.
    enum Ending: Hashable, Sendable, CaseIterable {
        /// Its endpoint could not be made of what is there, and was not wanted.
        case skipped
        case succeeded
        /// It succeeded, and has a closure that wants to know.
        case succeededWithClosure
        case failed
    }

    private enum Phase: Hashable, Sendable { case made, working, handingOver, over }

    private var phase = Phase.made
    private var total = 0
    private var current = 0

    /// - Returns: the number of the step; nil where the chain is over.
    mutating func append() -> Int? {
        guard phase != .over else { return nil }
        total += 1
        return total - 1
    }

    /// - Returns: nil for one that was started before.
    mutating func start() -> [Step]? {
        guard phase == .made else { return nil }
        return begin(0)
    }

    mutating func stepEnded(_ index: Int, _ ending: Ending) -> [Step] {
        guard phase == .working, index == current else { return [] }
        switch ending {
        case .skipped, .succeeded: return [.report(ended: index + 1, total: total)] + begin(index + 1)
        case .succeededWithClosure:
            phase = .handingOver
            return [.handOver(index)]
        case .failed:
            phase = .over
            return [.report(ended: index + 1, total: total), .fail(index)]
        }
    }

    /// The closure of a step has returned.
    mutating func handedOver(_ index: Int) -> [Step] {
        guard phase == .handingOver, index == current else { return [] }
        return [.report(ended: index + 1, total: total)] + begin(index + 1)
    }

    /// Nothing begins any more, and nothing is appended or reported.
    mutating func cancel() { phase = .over }

    private mutating func begin(_ index: Int) -> [Step] {
        current = index
        phase = index < total ? .working : .over
        return index < total ? [.begin(index)] : [.succeed]
    }
}
