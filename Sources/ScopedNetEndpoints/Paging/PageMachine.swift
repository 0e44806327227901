/// The decisions of a ``Pager``: when a page is asked for, and who gets it. (pure)
///
/// At most one page is on its way. Whoever asks while it is gets that one; one that was fetched ahead waits for the next who asks.
struct PageMachine: Hashable, Sendable {
    enum Step: Hashable, Sendable {
        /// Ask for the page at the place.
        case fetch(Int)
        /// Take back the fetch with this number.
        case abandon(Int)
        /// Hand what came to all who wait.
        case deliver
        /// Hand what was fetched ahead to the one who asks.
        case deliverStored
        /// There is none: say so to the one who asks.
        case end
    }

    private enum Phase: Hashable, Sendable { case idle, fetching, stored, ended }

    let fetchesAhead: Bool
    private var phase = Phase.idle
    /// Of fetches; an answer to an older one is passed over.
    private var number = 0
    private var waiting = 0

    init(fetchesAhead: Bool) { self.fetchesAhead = fetchesAhead }

    /// The fetch is the present one.
    func expects(_ fetch: Int) -> Bool { phase == .fetching && fetch == number }

    /// Takes in one who wants the next page.
    ///
    /// - Returns: what is done; the one who asks waits unless there is something for him.
    mutating func ask() -> [Step] {
        switch phase {
        case .idle:
            waiting += 1
            return [fetch()]
        case .fetching:
            waiting += 1
            return []
        case .stored:
            phase = .idle
            return [.deliverStored]
        case .ended: return [.end]
        }
    }

    /// One of those who wait has gone; a page that nobody waits for is taken back, unless it is fetched ahead.
    mutating func leave() -> [Step] {
        guard waiting > 0 else { return [] }
        waiting -= 1
        guard waiting == 0, phase == .fetching, !fetchesAhead else { return [] }
        phase = .idle
        number += 1
        return [.abandon(number - 1)]
    }

    /// A fetch has ended. A failure that nobody waits for is none: who asks later may have more luck.
    mutating func fetched(_ fetch: Int, succeeded: Bool) -> [Step] {
        guard phase == .fetching, fetch == number else { return [] }
        number += 1
        phase = waiting > 0 || !succeeded ? .idle : .stored
        defer { waiting = 0 }
        return waiting > 0 ? [.deliver] : []
    }

    /// A page was handed over: the next one may be fetched before anybody asks.
    mutating func advance(isLast: Bool) -> [Step] {
        guard phase == .idle else { return [] }
        if isLast {
            phase = .ended
            return []
        }
        return fetchesAhead ? [fetch()] : []
    }

    /// From the first page again. What is on its way is taken back, and whoever waits gets the first page.
    mutating func restart() -> [Step] {
        let old = number
        let wasFetching = phase == .fetching
        number += 1
        phase = .idle
        guard wasFetching else { return [] }
        return waiting > 0 ? [.abandon(old), fetch()] : [.abandon(old)]
    }

    private mutating func fetch() -> Step {
        phase = .fetching
        return .fetch(number)
    }
}
