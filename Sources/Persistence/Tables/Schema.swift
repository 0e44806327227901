import GRDB
import GRDBSQLite
import Glibc

/// The tables, and how a connection is set up.
///
/// Their version is that of the folder (``StoreFolder/version``).
enum Schema {
    /// "ScNt" (https://sqlite.org/pragma.html#pragma_application_id).
    static let applicationID: Int64 = 0x5363_4E74

    static let pageSize = 8192
    /// The cost of an entry on disk beside its bytes: its share of the indexes and pages.
    static let overheadPerEntry = 300

    /// The body stands beside the row, so that new metadata rewrites a page or two. No triggers: they would make a clear of all slow.
    private static let tables = """
        CREATE TABLE entry(
            id INTEGER PRIMARY KEY,
            partition BLOB NOT NULL,
            key_hash INTEGER NOT NULL,
            key BLOB NOT NULL,
            variant BLOB NOT NULL,
            metadata BLOB NOT NULL,
            fresh_until INTEGER,
            revalidatable INTEGER NOT NULL,
            stored_at INTEGER NOT NULL,
            generation INTEGER NOT NULL,
            body_kind INTEGER NOT NULL,
            body_length INTEGER NOT NULL,
            body_checksum INTEGER NOT NULL,
            file BLOB,
            checksum INTEGER NOT NULL,
            cost INTEGER NOT NULL,
            last_used INTEGER NOT NULL
        );
        CREATE INDEX entry_key ON entry(partition, key_hash);
        CREATE INDEX entry_age ON entry(last_used, cost);
        CREATE INDEX entry_expiry ON entry(fresh_until) WHERE revalidatable = 0 AND fresh_until IS NOT NULL;
        CREATE TABLE body(id INTEGER PRIMARY KEY, data BLOB NOT NULL);
        CREATE TABLE record(
            namespace BLOB NOT NULL, name BLOB NOT NULL, data BLOB NOT NULL, expires INTEGER, checksum INTEGER NOT NULL,
            PRIMARY KEY(namespace, name)
        ) WITHOUT ROWID;
        CREATE TABLE total(id INTEGER PRIMARY KEY, seed INTEGER NOT NULL, bytes INTEGER NOT NULL, entries INTEGER NOT NULL);
        CREATE TABLE change(
            position INTEGER PRIMARY KEY AUTOINCREMENT, origin INTEGER NOT NULL, partition BLOB, name BLOB, invalidation INTEGER NOT NULL
        );
        """

    /// The settings of a connection; `path` is that of the database, without links.
    static func configuration(_ path: String, readonly: Bool, secureDelete: Bool) -> Configuration {
        var configuration = Configuration()
        configuration.readonly = readonly
        configuration.foreignKeysEnabled = false
        // GRDB ends the process when a transaction is left open. A rollback that fails must not: the next transaction finds it, and fails.
        configuration.allowsUnsafeTransactions = true
        configuration.busyMode = .timeout(readonly ? 2 : 5)
        configuration.label = readonly ? "store-reader" : "store-writer"
        configuration.prepareDatabase { database in
            try checkName(of: database, path)
            try database.execute(
                sql: "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0")
            guard !readonly else { return }
            // Debian's SQLite overwrites what it deletes, by default.
            try database.execute(sql: "PRAGMA secure_delete = \(secureDelete ? "ON" : "OFF")")
            // Both hold only before the first table, and the page size only before WAL.
            try database.execute(sql: "PRAGMA page_size = \(pageSize); PRAGMA auto_vacuum = INCREMENTAL")
        }
        return configuration
    }

    /// Checks that SQLite opened the file of exactly that name. It resolves links before it opens, and GRDB has no way to `SQLITE_OPEN_NOFOLLOW`; the
    /// name it resolved tells the same. What it opens beside the database it never follows.
    private static func checkName(of database: Database, _ path: String) throws {
        let name = database.sqliteConnection.flatMap { sqlite3_db_filename($0, "main") }.map { String(cString: $0) }
        guard let name, name.utf8.elementsEqual(path.utf8) else {
            throw DatabaseFailure.unavailable(FileTrust.Refusal.notAFile.message(path))
        }
    }

    /// Makes a new file a store, and checks that an old one is.
    ///
    /// `contentVersion` is the user's, for what is in the metadata. Throws `corrupt` for a file that is somebody else's or of another
    /// version.
    static func establish(_ database: Database, contentVersion: Int64, seed: Int64) throws {
        try database.inTransaction(.immediate) {
            let application = try database.integer("PRAGMA application_id") ?? 0
            let found = try database.integer("PRAGMA user_version") ?? 0
            let expected = StoreFolder.version << 20 | contentVersion & 0xF_FFFF
            if application == applicationID && found == expected { return .rollback }
            let tables = try database.integer("SELECT count(*) FROM sqlite_schema") ?? 0
            guard application == 0 && found == 0 && tables == 0 else {
                throw DatabaseFailure.corrupt("the file is of another program or version (\(application), \(found))")
            }
            try database.execute(sql: Self.tables)
            try database.run("INSERT INTO total(id, seed, bytes, entries) VALUES(1, ?, 0, 0)", [.integer(seed)])
            try database.execute(sql: "PRAGMA application_id = \(applicationID); PRAGMA user_version = \(expected)")
            return .commit
        }
    }

    /// Switches a connection that writes to the write-ahead log, which takes an exclusive lock and does not wait for it by the busy timeout.
    ///
    /// - Throws: `unavailable` where the file system cannot do what the log needs.
    static func switchToWAL(_ database: Database) throws {
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

    /// The seed of the hashes of keys and of the checksums, chosen when the database was made.
    ///
    /// - Throws: `corrupt` where there is none.
    static func seed(of database: Database) throws -> UInt64 {
        guard let seed = try database.integer("SELECT seed FROM total WHERE id = 1") else {
            throw DatabaseFailure.corrupt("the file has no totals")
        }
        return UInt64(bitPattern: seed)
    }

    /// The user's version of what is in the metadata.
    ///
    /// - Throws: `unavailable` for a file that is somebody else's.
    static func contentVersion(of database: Database) throws -> Int64 {
        let application = try database.integer("PRAGMA application_id") ?? 0
        let found = try database.integer("PRAGMA user_version") ?? 0
        guard application == applicationID, found >> 20 == StoreFolder.version else {
            throw DatabaseFailure.unavailable("the file is of another program or version (\(application), \(found))")
        }
        return found & 0xF_FFFF
    }
}
