/// The decisions of a ``Batch``: which member begins when, and how the whole ends. (pure)
///
/// A member ends once; what is heard of it a second time, or behind the end of the batch, is passed over.
struct BatchMachine: Hashable, Sendable {
    /// One thing to be done; several come in their order.
    enum Step: Hashable, Sendable {
        /// Begin a member.
        case begin(Int)
        /// Say that so many members have ended.
        case report(Int)
        /// All have ended as they should.
        case succeed
        /// This member's failure is the batch's; the others are to be stopped.
        case fail(Int)
    }

    private enum Phase: Hashable, Sendable { case made, running, over }
    private enum Member: Hashable, Sendable { case waiting, underWay, ended }

    private let limit: Int
    private let collectsFailures: Bool
    private var phase = Phase.made
    private var members: [Member]
    /// The first that has not begun.
    private var next = 0
    private var ended = 0

    /// - Parameters:
    ///   - count: of the members.
    ///   - limit: the most members under way at a time; at least 1.
    ///   - collectsFailures: a member that fails is one that has ended, and nothing more.
    init(count: Int, limit: Int, collectsFailures: Bool) {
        self.limit = max(1, limit)
        self.collectsFailures = collectsFailures
        members = Array(repeating: .waiting, count: count)
    }

    var isOver: Bool { phase == .over }

    /// - Returns: nil for one that was started before.
    mutating func start() -> [Step]? {
        guard phase == .made else { return nil }
        phase = .running
        // None has nothing to wait for.
        if members.isEmpty { return finish([.succeed]) }
        return begin()
    }

    mutating func memberEnded(_ index: Int, failed: Bool) -> [Step] {
        guard phase == .running, members.indices.contains(index), members[index] == .underWay else { return [] }
        members[index] = .ended
        ended += 1
        if failed, !collectsFailures { return finish([.report(ended), .fail(index)]) }
        if ended == members.count { return finish([.report(ended), .succeed]) }
        return [.report(ended)] + begin()
    }

    /// Judges a member that was cancelled.
    ///
    /// - Returns: true where that ends the batch; false where the batch is over, and has cancelled it.
    func isEnded(byCancelOf index: Int) -> Bool { phase == .running && members.indices.contains(index) && members[index] == .underWay }

    /// Nothing begins any more, and nothing is reported.
    mutating func cancel() { phase = .over }

    private mutating func begin() -> [Step] {
        var steps: [Step] = []
        while next < members.count, next - ended < limit {
            members[next] = .underWay
            steps.append(.begin(next))
            next += 1
        }
        return steps
    }

    private mutating func finish(_ steps: [Step]) -> [Step] {
        phase = .over
        return steps
    }
}
