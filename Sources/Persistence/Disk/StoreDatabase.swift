import FoundationEssentials
import GRDB
import SystemSupport

/// The database of a store, open: its connections, and the tables behind them.
///
/// Writing calls come from the store's writer thread only; reading calls from any thread that may block. Each call is a transaction of its own.
final class StoreDatabase: Sendable {
    struct Options: Sendable {
        var isShared: Bool
        var contentVersion: Int64
        var secureDelete: Bool
        var variantsPerKey: Int
        /// Larger bodies get a file.
        var inlineBodyBytes: Int
        var sealing: (any StoreSealing)?
        /// The bytes that sealing adds to a frame; known where the key is not, too.
        var frameOverhead = 0
        /// The threads on which bodies that are files are read.
        var bodies: DiskThreads?
    }

    let folder: StoreFolder
    let options: Options
    let connections: DatabaseConnections
    private let sealing: RowSealing
    private let entries: EntryTable
    private let recordTable: RecordTable
    private let batches: BatchWriter
    private let transactions: EntryTransactions
    /// Nil where nobody else writes.
    private let watcher: CommitWatcher?
    /// Of the file that is open.
    private let inode: UInt64?

    private init(
        _ folder: StoreFolder, _ options: Options, seed: UInt64, _ connections: DatabaseConnections, watching connection: DatabaseQueue?,
        inode: UInt64?
    ) {
        self.folder = folder
        self.options = options
        self.connections = connections
        self.inode = inode
        sealing = RowSealing(sealing: options.sealing)
        let format = EntryRowFormat(
            seed: seed, folder: folder, sealing: options.sealing, frameOverhead: options.frameOverhead, bodyThreads: options.bodies)
        let bodies = BodyPlacement(folder: folder, inlineBytes: options.inlineBodyBytes, sealing: options.sealing)
        entries = EntryTable(format: format, bodies: bodies)
        recordTable = RecordTable(seed: seed, sealing: sealing)
        let log = ChangeLog(origin: Int64.random(in: 1...Int64.max), hidesNames: options.sealing != nil)
        batches = BatchWriter(
            entries: entries, sealing: sealing, log: options.isShared ? log : nil, variantsPerKey: options.variantsPerKey)
        transactions = EntryTransactions(connections: connections, folder: folder)
        watcher = connection.map { CommitWatcher($0, log) }
    }

    /// Opens the database, or makes it. The folder is prepared, and its lock held.
    ///
    /// `newSeed` is that of a database that is made; a random one when nil.
    convenience init(_ folder: StoreFolder, _ options: Options, newSeed: UInt64? = nil) throws(DatabaseFailure) {
        do {
            let folder = try folder.prepare()
            try folder.makeDatabaseFile()
            let path = folder.database
            let newSeed = newSeed.map { Int64(bitPattern: $0) } ?? Int64.random(in: Int64.min...Int64.max)
            let writer = try DatabaseQueue(
                path: path, configuration: Schema.configuration(path, readonly: false, secureDelete: options.secureDelete))
            let seed = try writer.writeWithoutTransaction { database in
                try Schema.switchToWAL(database)
                try Schema.establish(database, contentVersion: options.contentVersion, seed: newSeed)
                try SealingMark.claim(database, for: options.sealing)
                return try Schema.seed(of: database)
            }
            let makeReader = Self.readers(of: path)
            let connections = DatabaseConnections(writer: writer, readers: 4, makeReader: makeReader)
            self.init(
                folder, options, seed: seed, connections, watching: options.isShared ? try makeReader() : nil, inode: Files.inode(of: path))
            // A first look: what is not there or cannot be is found before anybody relies on it.
            _ = try connections.read { try StoreTotals(of: $0) }
        } catch {
            throw DatabaseFailure(error)
        }
    }

    /// Looks at a database that is somebody else's to write. Makes nothing, and holds no lock between two looks.
    ///
    /// Without `sealing`, or with another key, what is sealed stays so.
    convenience init(inspecting folder: StoreFolder, _ sealing: (any StoreSealing)?) throws(DatabaseFailure) {
        let folder = Files.resolved(folder.path).map { StoreFolder($0) } ?? folder
        let makeReader = Self.readers(of: folder.database)
        do {
            let first = try makeReader()
            let (content, seed, fingerprint) = try first.unsafeRead {
                (try Schema.contentVersion(of: $0), try Schema.seed(of: $0), try SealingMark.fingerprint(of: $0))
            }
            let options = Options(
                isShared: false, contentVersion: content, secureDelete: false, variantsPerKey: 1, inlineBodyBytes: 0,
                sealing: fingerprint == sealing?.fingerprint ? sealing : nil, frameOverhead: SealingMark.frameOverhead(of: fingerprint))
            // Read-only as well: nothing here may write.
            let connections = DatabaseConnections(writer: first, readers: 1, makeReader: makeReader)
            self.init(folder, options, seed: seed, connections, watching: nil, inode: nil)
        } catch {
            throw DatabaseFailure(error)
        }
    }

    private static func readers(of path: String) -> @Sendable () throws -> DatabaseQueue {
        { try DatabaseQueue(path: path, configuration: Schema.configuration(path, readonly: true, secureDelete: false)) }
    }

    /// Closes every connection, after the readers that are under way. On the writer thread.
    func close() {
        watcher?.forget()
        connections.readers.close()
        watcher?.close()
        connections.close()
    }

    /// True while the file that is open is still the one under its name.
    var isInPlace: Bool { Files.inode(of: folder.database) == inode }

    /// Gives back the memory of page caches.
    func trim() { connections.trim() }

    /// Gives pages nobody uses back to the file system.
    func vacuum() throws(DatabaseFailure) { try connections.vacuum() }

    // MARK: Reading entries

    /// All variants of a key, the newest last, and when they were last used.
    func load(_ key: EntryKey) throws(DatabaseFailure) -> (entries: [StoreEntry], lastUsed: Int64) {
        let stored = sealing.stored(key)
        return try connections.read { database in
            var found = try entries.load(stored, in: database)
            if sealing.isSealed { found.entries = try found.entries.map { try sealing.opened($0, of: key) } }
            return found
        }
    }

    /// The keys of all entries.
    func keyFilter() throws(DatabaseFailure) -> KeyFilter {
        try connections.read { database in
            var filter = KeyFilter(seed: entries.format.seed)
            try database.run("SELECT key_hash FROM entry") { filter.insert(hash: $0.integer(0)) }
            return filter
        }
    }

    /// The next entries by id, without their bodies.
    func list(partition: String?, after id: Int64, limit: Int) throws(DatabaseFailure) -> [EntrySummary] {
        try connections.read { try EntryListing(sealing: sealing).list(partition: partition, after: id, limit: limit, in: $0) }
    }

    // MARK: Writing entries

    struct Written: Sendable {
        /// Keys whose puts came too late.
        var refused: [EntryKey]
        /// Of the whole store, afterwards.
        var totals: StoreTotals
    }

    /// Writes a batch in one transaction: bodies first get their place, then come the rows, and what they replace is removed last.
    func write(_ batch: WriteBackQueue.Batch, now: Int64) throws(DatabaseFailure) -> Written {
        let (refused, totals) = try transactions.run { database, ledger in try batches.write(batch, in: database, &ledger, now: now) }
        return Written(refused: refused, totals: totals)
    }

    /// Notes when keys were used last.
    func writeTouches(_ touches: [EntryKey: Int64]) throws(DatabaseFailure) {
        try connections.write { database in
            for (key, time) in touches { try entries.touch(sealing.stored(key), at: time, in: database) }
        }
    }

    struct Evicted: Sendable {
        var entries: Int
        /// Of the whole store, afterwards.
        var totals: StoreTotals
    }

    /// Removes entries until `bytes` are free, one batch of them at most.
    func evict(bytes: Int, now: Int64) throws(DatabaseFailure) -> Evicted {
        let (entries, totals) = try transactions.run { database, ledger in
            try EntryEviction(entries: self.entries).evict(bytes: bytes, now: now, in: database, &ledger)
            return -ledger.entries
        }
        return Evicted(entries: entries, totals: totals)
    }

    /// Brings files and rows in line: rows without their file go, and files without a row once they are `age` seconds old.
    func sweep(olderThan age: Int, temporaryOlderThan temporaryAge: Int, now: Int64) throws(DatabaseFailure) {
        try orphans.sweep(olderThan: age, temporaryOlderThan: temporaryAge, now: now)
    }

    var orphans: OrphanSweep { OrphanSweep(entries: entries, transactions: transactions) }

    // MARK: Records

    /// Stores records, all or none.
    func write(_ records: [StoreRecord], in namespace: String) throws(DatabaseFailure) {
        try write(RecordChange(kept: records), in: namespace)
    }

    /// Applies all of a change or nothing.
    func write(_ change: RecordChange, in namespace: String) throws(DatabaseFailure) {
        try connections.write { try recordTable.apply(change, to: namespace, in: $0) }
    }

    /// Takes over what could be read of the database this one replaces, which has the same seed.
    func write(_ salvage: RecordSalvage) throws(DatabaseFailure) {
        guard !salvage.rows.isEmpty else { return }
        try connections.write { database in
            for row in salvage.rows { try recordTable.insert(row, orElse: .ignore, in: database) }
        }
    }

    /// One record or all, without those that have expired.
    func records(in namespace: String, name: String?, now: Int64) throws(DatabaseFailure) -> [StoreRecord] {
        try connections.read { try recordTable.records(of: namespace, name: name, now: now, in: $0) }
    }

    /// Removes records by name; all of the namespace when `names` is nil.
    func removeRecords(_ names: [String]?, in namespace: String) throws(DatabaseFailure) {
        try connections.write { try recordTable.remove(names, of: namespace, in: $0) }
    }

    /// Removes the records of all namespaces that have expired.
    func removeRecords(expiredBefore now: Int64) throws(DatabaseFailure) {
        try connections.write { try recordTable.remove(expiredBefore: now, in: $0) }
    }

    // MARK: The whole

    /// True for a store that is sealed, with whatever key.
    func isSealed() throws(DatabaseFailure) -> Bool { try connections.read { try SealingMark.fingerprint(of: $0) != nil } }

    /// Bytes and entries of the store, as the counters say.
    func readTotals() throws(DatabaseFailure) -> StoreTotals { try connections.read { try StoreTotals(of: $0) } }

    /// Bytes and entries of the store, counted.
    ///
    /// - Throws: `corrupt` when the counters say something else.
    func checkTotals() throws(DatabaseFailure) -> StoreTotals { try connections.read { try StoreTotals(counting: $0) } }

    /// Reads everything, and says what is wrong.
    func verify() throws(DatabaseFailure) -> VerificationReport {
        try IntegrityCheck(connections: connections, format: entries.format).report()
    }

    // MARK: Other processes

    /// Tells `apply` what other processes changed since the position it was told last (``CommitWatcher/catchUp(from:apply:)``).
    func catchUp(from position: () -> Int64, apply: ([ForeignChange]?, Int64) -> Void) throws(DatabaseFailure) {
        try watcher?.catchUp(from: position, apply: apply)
    }

    /// True if nothing was committed since the last catch-up. Reads memory; calls neither SQLite nor the system.
    var isUnchanged: Bool { watcher?.isUnchanged ?? false }

    /// The newest position of the log of changes.
    func changePosition() throws(DatabaseFailure) -> Int64 { try connections.read { try ChangeLog.position(in: $0) } }
}
