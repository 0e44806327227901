import FoundationEssentials
import SystemSupport

@testable import Persistence

/// The parts of a store's engine, joined as far as a test wants them. The test stands in for the writer thread.
final class EngineLab: Sendable {
    let folder = TestFolder()
    let clock = ManualClocks()
    let log = EventLog()
    let configuration: StoreConfiguration
    let memory: StoreMemory
    let handle = DatabaseHandle()
    let threads = StoreThreads(readTimeout: .seconds(60))
    let supervisor: DatabaseSupervisor
    let writeBack: WriteBack
    let catchUp: CatchUp?
    let reader: EntryReader

    init(_ mode: StoreConfiguration.Mode = .private, directory: String? = nil, _ change: (inout StoreConfiguration) -> Void = { _ in }) {
        var configuration = folder.configuration(mode, change)
        if let directory { configuration.directory = directory }
        self.configuration = configuration
        memory = StoreMemory(configuration, clocks: clock.clocks)
        let events = StoreEvents(log.sink)
        supervisor = DatabaseSupervisor(
            configuration, clocks: clock.clocks, memory: memory, handle: handle, events: events, bodies: threads.bodies,
            number: OpenStores.shared.makeNumber())
        writeBack = WriteBack(
            configuration, clocks: clock.clocks, memory: memory, handle: handle, events: events, supervisor: supervisor,
            writer: threads.writer)
        catchUp =
            mode == .shared
            ? CatchUp(memory: memory, handle: handle, writeBack: writeBack, readers: threads.readers, clocks: clock.clocks) : nil
        reader = EntryReader(memory: memory, handle: handle, writeBack: writeBack, catchUp: catchUp)
    }

    /// Puts an entry into memory, for the writer to write.
    @discardableResult
    func put(_ entry: StoreEntry) -> PutOutcome { change { $0.put(entry, ticket: nil, at: $1) } }

    @discardableResult
    func change(_ body: (inout MemoryState, MemoryState.Moment) -> MemoryState.Change) -> PutOutcome {
        let now = memory.now
        return memory.withLock { body(&$0, now).outcome }
    }

    /// Opens the database, and waits until the writer thread has read its keys and swept it: the test alone writes from then on.
    func open() async {
        writeBack.open()
        await writerIsIdle()
    }

    /// Waits until the writer thread has done what it was asked for.
    func writerIsIdle() async {
        await withCheckedContinuation { continuation in
            if !threads.writer.enqueue({ continuation.resume() }) { continuation.resume() }
        }
    }

    /// Closes the files, and waits for the writer thread.
    func close() async {
        await writerIsIdle()
        supervisor.close()
        threads.endAfterWriting()
    }

    var isReplaced: Bool { log.all.contains { if case .replaced = $0 { true } else { false } } }
}
