import FoundationEssentials
import SystemSupport

/// A store of entries and records on disk, with the memory in front of it.
///
/// Making one does no I/O and never fails: the database is opened on a thread of the store. Memory answers at once, the disk from then on.
/// Files that are damaged, of another program or of another version are replaced by an empty store; where there can be no disk, memory works
/// alone, and ``condition`` says why.
///
/// All calls are safe from any thread. A store nobody refers to any more writes what waits and closes by itself, in the background;
/// `close()` is for those who want to know when.
///
/// Do not carry a store over fork(2).
public final class Store: Sendable {
    let engine: StoreEngine

    /// Begins to open the store, in the background.
    public convenience init(_ configuration: StoreConfiguration) {
        self.init(configuration, clocks: .system)
    }

    init(_ configuration: StoreConfiguration, clocks: Clocks) {
        engine = StoreEngine(configuration, clocks: clocks)
    }

    deinit { engine.close() }

    /// Whether there is a disk.
    public var condition: StoreCondition { engine.handle.storeCondition }

    /// Waits until the database is open, or known not to be.
    @discardableResult
    public func opened() async -> StoreCondition {
        await withCheckedContinuation { continuation in
            let engine = engine
            // The writer thread opens first.
            if !engine.threads.writer.enqueue({ continuation.resume() }) { continuation.resume() }
        }
        return condition
    }

    // MARK: Reading

    /// Returns the entries of a key that are in memory, without any wait and without a call of the database.
    ///
    /// A value that was just put is found, also while the store is being opened; ``StoreLookup/isComplete`` tells whether the disk may have more variants.
    ///
    /// - Returns: nil when memory has nothing and only the disk can tell. In shared mode also when another process, or this one, has committed
    ///   something since the last ``lookup(_:)``.
    public func cached(_ key: EntryKey) -> StoreLookup? {
        engine.reader.cached(key) ?? engine.reader.known(key)
    }

    /// What the store has of a key: from memory at once, else read on a thread of the store. Never waits for a write, and never fails: what
    /// cannot be read is a miss, and so is what the disk does not answer within ``StoreLimits/readTimeout``.
    public func lookup(_ key: EntryKey) async -> StoreLookup {
        if let found = engine.reader.cached(key) { return found }
        let engine = engine
        return await engine.threads.readers.answer { engine.reader.lookup(key) } ?? engine.reader.missed(key)
    }

    /// As ``lookup(_:)``, with a closure in place of a task.
    ///
    /// `then` is called once and never by this thread within the call: on the thread that has read, or another one.
    package func lookup(_ key: EntryKey, then: @escaping @Sendable (StoreLookup) -> Void) {
        let engine = engine
        engine.threads.readers.answer {
            engine.reader.lookup(key)
        } then: {
            then($0 ?? engine.reader.missed(key))
        }
    }

    /// As ``lookup(_:)``, for a thread that may block.
    public func lookupBlocking(_ key: EntryKey) -> StoreLookup {
        if let found = engine.reader.cached(key) { return found }
        let engine = engine
        return engine.threads.readers.answer { engine.reader.lookup(key) } ?? engine.reader.missed(key)
    }

    /// What a `put` without a lookup needs to be refused when the key is invalidated meanwhile. Take it before the fetch begins.
    ///
    /// In shared mode it may be older than the last change of another process, and then refuses a little more than it has to.
    public func ticket() -> PutTicket {
        engine.catchUp?.runSoon()
        return engine.memory.withLock { $0.ticket }
    }

    // MARK: Bodies

    /// The time that the disk has to answer (``StoreLimits/readTimeout``).
    package var readTimeout: Duration { engine.configuration.limits.readTimeout }

    /// A writer for the body of an entry that is to be put. It makes no file until the body is large.
    public func makeBodyWriter() -> BodyWriter {
        let limits = engine.configuration.limits
        let engine = engine
        return BodyWriter(
            limits: BodyWriter.Limits(inline: limits.inlineBodyBytes, maximum: limits.largestBody), sealing: engine.configuration.sealing,
            disk: engine.threads.bodies
        ) { () throws(StoreError) in
            guard engine.handle.wait() != nil else { throw engine.handle.unavailable }
            return try engine.folder.makeTemporaryFile()
        }
    }

    // MARK: Closing

    /// Writes what waits, and closes the files. Afterwards puts are refused, and memory alone answers; in shared mode every lookup is a miss.
    public func close() async {
        await withCheckedContinuation { continuation in engine.close { continuation.resume() } }
    }
}
