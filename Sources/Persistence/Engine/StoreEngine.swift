import FoundationEssentials
import SystemSupport

/// The parts of a store, joined: it decides in memory (``StoreMemory``), and acts outside the lock, on the writer thread (``WriteBack``) and the
/// reader threads (``EntryReader``).
final class StoreEngine: Sendable {
    let configuration: StoreConfiguration
    let folder: StoreFolder
    let clocks: Clocks
    let memory: StoreMemory
    let handle = DatabaseHandle()
    let threads: StoreThreads
    let writeBack: WriteBack
    let reader: EntryReader
    /// Nil in a private store.
    let catchUp: CatchUp?
    private let supervisor: DatabaseSupervisor
    private let events: StoreEvents
    private let end = StoreEnd()
    /// In the order the stores of the process were made.
    private let number = OpenStores.shared.makeNumber()

    /// Begins to open the database, on the writer thread.
    init(_ configuration: StoreConfiguration, clocks: Clocks) {
        var configuration = configuration
        configuration.limits = configuration.limits.bounded
        self.configuration = configuration
        self.clocks = clocks
        folder = StoreFolder(configuration.directory)
        threads = StoreThreads(readTimeout: configuration.limits.readTimeout)
        memory = StoreMemory(configuration, clocks: clocks)
        events = StoreEvents(configuration.onEvent)
        supervisor = DatabaseSupervisor(
            configuration, clocks: clocks, memory: memory, handle: handle, events: events, bodies: threads.bodies, number: number)
        writeBack = WriteBack(
            configuration, clocks: clocks, memory: memory, handle: handle, events: events, supervisor: supervisor, writer: threads.writer)
        catchUp =
            configuration.mode == .shared
            ? CatchUp(memory: memory, handle: handle, writeBack: writeBack, readers: threads.readers, clocks: clocks) : nil
        reader = EntryReader(memory: memory, handle: handle, writeBack: writeBack, catchUp: catchUp)
        OpenStores.shared.add(self, number: number)
        if !threads.writer.enqueue({ [writeBack] in writeBack.open() }) {
            supervisor.lose("the process can have no further thread", retryAfter: .seconds(60))
        }
    }

    /// Changes memory at once, and has the disk follow.
    func change(_ body: (inout MemoryState, MemoryState.Moment) -> MemoryState.Change) -> PutOutcome {
        guard !end.hasBegun else { return .closed }
        let now = memory.now
        let (change, dropped) = memory.withLock { state in
            let change = body(&state, now)
            return (change, state.queue.takeDropped())
        }
        writeBack.act(on: change.wake)
        // Their files are removed by whoever lets go of them last: that is not to be this thread.
        if !dropped.isEmpty { threads.writer.enqueue { withExtendedLifetime(dropped) {} } }
        writeBack.retryIfDue()
        return change.outcome
    }

    // MARK: The end

    /// Writes what waits and closes the files; afterwards memory alone answers. Returns at once.
    func close(then done: @escaping @Sendable () -> Void = {}) {
        let isFirst = end.begin()
        if isFirst {
            let isQueued = threads.writer.enqueue { [self] in
                writeBack.flush()
                supervisor.close()
                finish()
            }
            // Without a thread that could be made for it there is no file that is open.
            if !isQueued { finish() }
        }
        // The second close waits for the first.
        end.whenOver(done)
        // After the job above has been taken in, none is.
        if isFirst { threads.endAfterWriting() }
    }

    private func finish() {
        let waiting = end.finish()
        OpenStores.shared.remove(number: number)
        for done in waiting { done() }
    }
}

extension StoreEngine: OpenStore {
    func isLettingGo(of folder: String, lockFile: UInt64?) -> Bool {
        guard end.isUnderWay else { return false }
        if self.folder.path.hasSameBytes(as: folder) { return true }
        guard let held = supervisor.lockFile else { return false }
        return held == lockFile
    }

    /// Any thread; returns at once, but on the writer thread itself, which comes here when a call of the user's ends the process.
    func flushNow(_ done: @escaping @Sendable () -> Void) {
        if threads.writer.isCurrent {
            // Within a transaction nothing more can be written; between two of them all of it can.
            if events.isTelling { writeBack.flush() }
            return done()
        }
        let isQueued = threads.writer.enqueue { [self] in
            writeBack.flush()
            done()
        }
        if !isQueued { end.whenOver(done) }
    }
}
