import FoundationEssentials
import GRDB
import Glibc
import SystemSupport

/// The database of a store, open: one connection that writes, some that read, and in shared mode one that watches what others do.
///
/// Writing calls come from the store's writer thread only; reading calls from any thread that may block.
final class StoreDatabase: Sendable {
    struct Options: Sendable {
        var isShared: Bool
        var contentVersion: Int64
        var secureDelete: Bool
        var variantsPerKey: Int
        /// Larger bodies get a file.
        var inlineBodyBytes: Int
        var sealing: (any StoreSealing)?
        /// What sealing adds to a frame; known where the key is not, too.
        var frameOverhead = 0
        /// Where bodies that are files are read.
        var bodies: DiskThreads?
    }

    let folder: StoreFolder
    let options: Options
    /// Tells this store's changes from those of others.
    let origin: Int64
    /// Of the hashes of keys; nobody outside can make keys that collide.
    let seed: UInt64
    let writer: DatabaseQueue
    let readers: ReaderPool
    private let watcher: DatabaseQueue?
    /// Of the file that is open.
    private let inode: UInt64?
    private let watched = Lock(Watched())

    private struct Watched {
        /// As of `PRAGMA data_version`, of the watching connection.
        var dataVersion: Int64?
        var isClosed = false
        /// Nil before the first catch-up, and once the connections are closed.
        var index: WriteAheadIndex?
        /// As it was before the last catch-up began, which has therefore seen all that was committed by then.
        var header: WriteAheadIndex.Header?
    }

    /// Opens the database, or makes it. The folder is prepared, and its lock held.
    ///
    /// `newSeed` is that of a database that is made; a random one when nil.
    init(_ folder: StoreFolder, _ options: Options, newSeed: UInt64? = nil) throws(DatabaseFailure) {
        self.options = options
        origin = Int64.random(in: 1...Int64.max)
        do {
            let folder = try folder.prepare()
            self.folder = folder
            try folder.makeDatabaseFile()
            let path = folder.database
            let newSeed = newSeed.map { Int64(bitPattern: $0) } ?? Int64.random(in: Int64.min...Int64.max)
            let writer = try DatabaseQueue(
                path: path, configuration: Schema.configuration(path, readonly: false, secureDelete: options.secureDelete))
            self.writer = writer
            seed = try writer.writeWithoutTransaction { database in
                try Self.switchToWAL(database)
                try Schema.establish(database, contentVersion: options.contentVersion, seed: newSeed)
                try Self.claim(database, for: options.sealing)
                guard let seed = try database.integer("SELECT seed FROM total WHERE id = 1") else {
                    throw DatabaseFailure.corrupt("the file has no totals")
                }
                return UInt64(bitPattern: seed)
            }
            let makeReader = { @Sendable () throws -> DatabaseQueue in
                try DatabaseQueue(path: path, configuration: Schema.configuration(path, readonly: true, secureDelete: false))
            }
            readers = ReaderPool(limit: 4, make: makeReader)
            watcher = options.isShared ? try makeReader() : nil
            inode = Files.inode(of: folder.database)
            // A first look: what is not there or cannot be is found before anybody relies on it.
            try readers.read { _ = try totals($0) }
        } catch {
            throw DatabaseFailure(error)
        }
    }

    /// Looks at a database that is somebody else's to write. Makes nothing, and holds no lock between two looks.
    ///
    /// Without `sealing`, or with another key, what is sealed stays so.
    init(inspecting folder: StoreFolder, _ sealing: (any StoreSealing)?) throws(DatabaseFailure) {
        let folder = Files.resolved(folder.path).map { StoreFolder($0) } ?? folder
        self.folder = folder
        origin = 0
        let path = folder.database
        let makeReader = { @Sendable () throws -> DatabaseQueue in
            try DatabaseQueue(path: path, configuration: Schema.configuration(path, readonly: true, secureDelete: false))
        }
        do {
            let first = try makeReader()
            let content = try first.unsafeRead { try Schema.contentVersion(of: $0) }
            guard let seed = try first.unsafeRead({ try $0.integer("SELECT seed FROM total WHERE id = 1") }) else {
                throw DatabaseFailure.corrupt("the file has no totals")
            }
            self.seed = UInt64(bitPattern: seed)
            // Read-only as well: nothing here may write.
            writer = first
            let fingerprint = try first.unsafeRead { try Self.fingerprint(of: $0) }
            options = Options(
                isShared: false, contentVersion: content, secureDelete: false, variantsPerKey: 1, inlineBodyBytes: 0,
                sealing: fingerprint == sealing?.fingerprint ? sealing : nil, frameOverhead: Self.frameOverhead(of: fingerprint))
        } catch {
            throw DatabaseFailure(error)
        }
        readers = ReaderPool(limit: 1, make: makeReader)
        watcher = nil
        inode = nil
    }

    /// Switching takes an exclusive lock, and does not wait for it by the busy timeout.
    private static func switchToWAL(_ database: Database) throws {
        for attempt in 0... {
            do {
                guard try String.fetchOne(database, sql: "PRAGMA journal_mode = WAL") == "wal" else {
                    throw DatabaseFailure.unavailable("the file system cannot do what SQLite's write-ahead log needs")
                }
                break
            } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY && attempt < 250 {
                usleep(20_000)
            }
        }
        // A loss of power may take the last commits, never the consistency; the end of a process takes nothing.
        try database.execute(sql: "PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = \(16 << 20); PRAGMA wal_autocheckpoint = 1000")
    }

    /// Closes every connection, after the readers that are under way. On the writer thread.
    func close() {
        // The memory behind the index goes with the last connection.
        watched.withLock { ($0.isClosed, $0.index, $0.header) = (true, nil, nil) }
        readers.close()
        try? watcher?.close()
        try? writer.close()
    }

    /// Whether the file that is open is still the one under its name.
    var isInPlace: Bool { Files.inode(of: folder.database) == inode }

    func keyHash(_ key: EntryKey) -> Int64 { key.hash(seed: seed) }

    /// Runs a transaction that writes; it has the right to from its first statement on, so it never fails half-way for being late.
    func write<Result>(_ body: (Database) throws -> Result) throws(DatabaseFailure) -> Result {
        do {
            return try writer.writeWithoutTransaction { database in
                var result: Result?
                try database.inTransaction(.immediate) {
                    result = try body(database)
                    return .commit
                }
                guard let result else { throw DatabaseFailure.unavailable("a transaction without an end") }
                return result
            }
        } catch {
            throw DatabaseFailure(error)
        }
    }

    // MARK: What others do

    /// Tells `apply` what other processes changed since the position it was told last. Microseconds when nothing did.
    ///
    /// When this returns, everything that was committed before the call has been applied, by this thread or another: `apply` runs while the
    /// watching connection is held. It gets nil for the changes when the log does not reach back far enough.
    func catchUp(from position: () -> Int64, apply: ([ForeignChange]?, Int64) -> Void) throws(DatabaseFailure) {
        guard let watcher else { return }
        do {
            try watcher.unsafeRead { database in
                let header = watched.withLock { $0.index?.header() }
                let version = try database.integer("PRAGMA data_version")
                if watched.withLock({ $0.dataVersion }) != version {
                    let news = try readChanges(database, after: position())
                    apply(news.changes, news.position)
                }
                let index = watched.withLock { $0.index } ?? WriteAheadIndex(of: database)
                watched.withLock { watched in
                    guard !watched.isClosed else { return }
                    watched.dataVersion = version
                    watched.index = index
                    watched.header = header
                }
            }
        } catch {
            throw DatabaseFailure(error)
        }
    }

    /// True if nothing was committed since the last catch-up. Reads memory; calls neither SQLite nor the system.
    var isUnchanged: Bool {
        watched.withLock { watched in
            guard let last = watched.header, let index = watched.index else { return false }
            return index.header() == last
        }
    }

    /// The newest position of the log.
    func changePosition() throws(DatabaseFailure) -> Int64 {
        try readers.read { try $0.integer("SELECT max(position) FROM change") ?? 0 }
    }

    private func readChanges(_ database: Database, after position: Int64) throws -> (changes: [ForeignChange]?, position: Int64) {
        var changes: [ForeignChange] = []
        var newest = position
        var expected = position + 1
        var hasGap = false
        try database.run(
            "SELECT position, origin, partition, name, invalidation FROM change WHERE position > ? ORDER BY position", [.integer(position)]
        ) { row in
            newest = row.integer(0)
            if newest != expected { hasGap = true }
            expected = newest + 1
            guard row.integer(1) != origin else { return }
            // A hidden name cannot be told back: everything memory knows may be concerned.
            if options.sealing != nil {
                changes = [
                    ForeignChange(partition: nil, name: nil, isInvalidation: changes.first?.isInvalidation == true || row.integer(4) != 0)
                ]
                return
            }
            changes.append(
                ForeignChange(
                    partition: row.isNull(2) ? nil : row.string(2), name: row.isNull(3) ? nil : row.string(3),
                    isInvalidation: row.integer(4) != 0))
        }
        return (hasGap ? nil : changes, newest)
    }
}
