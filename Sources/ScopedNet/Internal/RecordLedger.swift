internal import Persistence

/// What a table in memory owes its disk. (pure, but for the writer it names)
struct RecordLedger<Key: Hashable & Sendable> {
    /// What the next writing has to do.
    enum Due: Equatable {
        /// What is on disk is not what there is: all of it is written anew.
        case everything
        case entries(Set<Key>)
    }

    private var unsaved: Set<Key> = []
    private var owesEverything = false
    /// What was kept is in the table.
    var isLoaded = false
    var writer: Task<StoreError?, Never>?
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
