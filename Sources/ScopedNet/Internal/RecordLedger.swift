internal import Persistence

/// The changes of a table in memory that its store has not written yet, and the turns of the writings. (pure)
struct RecordLedger<Key: Hashable & Sendable> {
    /// What the next writing has to do.
    enum Due: Equatable {
        /// What is on disk is not what there is: all of it is written anew.
        case everything
        case entries(Set<Key>)
    }

    /// Waits for what was noted so far.
    struct Waiter: Sendable {
        let target: UInt64
        let resume: @Sendable (StoreError?) -> Void
    }

    private var unsaved: Set<Key> = []
    private var owesEverything = false
    /// What was kept is in the table.
    var isLoaded = false
    /// A writing waits for its turn, and takes what is owed then.
    private(set) var isQueued = false
    private var isWriting = false
    private var waiters: [Waiter] = []
    /// Counts what was noted, so that whoever waits for some of it does not wait for what comes behind.
    private(set) var noted: UInt64 = 0
    /// All up to here is on disk.
    private(set) var saved: UInt64 = 0
    private var taken: UInt64 = 0

    /// A disk that takes nothing must not make a list without end of what it is owed.
    private let most: Int

    init(most: Int = 10_000) { self.most = most }

    var isEmpty: Bool { !owesEverything && unsaved.isEmpty }

    /// Changed since it was read or written.
    func contains(_ key: Key) -> Bool { unsaved.contains(key) }

    mutating func note(_ keys: some Sequence<Key>) {
        noted += 1
        unsaved.formUnion(keys)
        if unsaved.count > most { noteEverything() }
    }

    mutating func noteEverything() {
        noted += 1
        owesEverything = true
        unsaved = []
    }

    // MARK: Writing

    /// - Returns: whether a writing has to be queued.
    mutating func queue() -> Bool {
        guard !isQueued, !isEmpty else { return false }
        isQueued = true
        return true
    }

    /// It is the writing's turn: what is noted from here on is the next one's.
    mutating func beginWriting() -> Due? {
        isQueued = false
        isWriting = true
        return take()
    }

    /// The writing is over, or could not begin.
    ///
    /// - Parameters:
    ///   - due: the changes that were not written. They are noted again, for the next change or flush.
    ///   - isWritten: true when the store has the others.
    /// - Returns: those who have waited for it, to be resumed outside the lock.
    mutating func endWriting(_ due: Due?, isWritten: Bool) -> [Waiter] {
        let reached = isWriting ? taken : noted
        if isWriting { isWriting = false } else { isQueued = false }
        if isWritten { paid() }
        // Who has to wait on waits for a writing that is queued; without one there is nothing more to come.
        let over = waiters.filter { $0.target <= reached || !isQueued }
        waiters.removeAll { $0.target <= reached || !isQueued }
        if let due { note(due) }
        return over
    }

    /// - Returns: false when nothing is being written or about to be: then there is nothing to wait for.
    mutating func wait(_ waiter: Waiter) -> Bool {
        guard saved < waiter.target, isQueued || isWriting else { return false }
        waiters.append(waiter)
        return true
    }

    /// Nil: nothing. Whoever takes it pays it, or notes it again.
    mutating func take() -> Due? {
        guard !isEmpty else { return nil }
        defer {
            unsaved = []
            owesEverything = false
        }
        taken = noted
        return owesEverything ? .everything : .entries(unsaved)
    }

    /// What was taken is on disk.
    mutating func paid() { saved = taken }

    mutating func note(_ due: Due) {
        switch due {
        case .everything: noteEverything()
        case .entries(let keys): note(keys)
        }
    }

    /// Nobody is owed anything.
    mutating func clear() {
        unsaved = []
        owesEverything = false
        saved = noted
    }
}
