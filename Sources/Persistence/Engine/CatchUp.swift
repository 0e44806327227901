import SystemSupport

/// The way by which memory learns what other processes did to a store. In shared mode only.
final class CatchUp: Sendable {
    private let memory: StoreMemory
    private let handle: DatabaseHandle
    private let writeBack: WriteBack
    private let readers: DiskThreads
    private let clocks: Clocks
    private let lastPlaceCheck = Lock(Duration.zero)
    /// A catch-up is to come already.
    private let isQueued = Lock(false)

    init(memory: StoreMemory, handle: DatabaseHandle, writeBack: WriteBack, readers: DiskThreads, clocks: Clocks) {
        self.memory = memory
        self.handle = handle
        self.writeBack = writeBack
        self.readers = readers
        self.clocks = clocks
    }

    /// Learns what others did, on this thread.
    ///
    /// - Returns: false when that cannot be told, and memory must not answer.
    func run() -> Bool {
        guard let database = handle.current else {
            // While it is being opened nothing is known; without a disk memory stands alone.
            if case .none = handle.snapshot { return true }
            return false
        }
        guard isInPlace(database) else { return false }
        do throws(DatabaseFailure) {
            try database.catchUp(
                from: { memory.withLock { $0.sharedPosition } },
                apply: { changes, position in
                    _ = memory.withLock { state in
                        if let changes { state.apply(changes, upTo: position) } else { state.forgetEverythingKnown(upTo: position) }
                    }
                })
            return true
        } catch {
            writeBack.report(error, of: database)
            return false
        }
    }

    /// Learns it on a thread of the store, so that the tickets of a process that only puts do not grow old.
    func runSoon() {
        let isFirst = isQueued.withLock { isQueued in
            defer { isQueued = true }
            return !isQueued
        }
        guard isFirst else { return }
        let isTaken = readers.enqueue { [self] in
            isQueued.withLock { $0 = false }
            _ = run()
        }
        if !isTaken { isQueued.withLock { $0 = false } }
    }

    /// True when nothing was committed since the last catch-up, as far as memory can tell. Calls no database.
    func isUnchanged(_ database: StoreDatabase) -> Bool { !isPlaceCheckDue && database.isUnchanged }

    private static let placeCheckInterval = Duration.seconds(1)

    private var isPlaceCheckDue: Bool {
        let now = clocks.monotonic()
        return lastPlaceCheck.withLock { now - $0 >= Self.placeCheckInterval }
    }

    /// Looks once a second: a process that only reads would not notice that somebody removed the files, and others made new ones.
    private func isInPlace(_ database: StoreDatabase) -> Bool {
        let now = clocks.monotonic()
        let isDue = lastPlaceCheck.withLock { last in
            guard now - last >= Self.placeCheckInterval else { return false }
            last = now
            return true
        }
        guard isDue, !database.isInPlace else { return true }
        writeBack.reopenSoon(database)
        return false
    }
}
