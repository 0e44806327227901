import GRDB

/// The connections of a store to its database: one that writes, and some that read.
///
/// Writing calls come from one thread only, the store's writer; reading calls from any thread that may block.
final class DatabaseConnections: Sendable {
    let writer: DatabaseQueue
    let readers: ReaderPool

    /// Takes over a connection that writes, and makes those that read when they are wanted.
    init(writer: DatabaseQueue, readers limit: Int, makeReader: @escaping @Sendable () throws -> DatabaseQueue) {
        self.writer = writer
        readers = ReaderPool(limit: limit, make: makeReader)
    }

    /// Reads what one moment has.
    func read<Result>(_ body: (Database) throws -> Result) throws(DatabaseFailure) -> Result { try readers.read(body) }

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

    /// Gives pages nobody uses back to the file system, 16 MiB a transaction.
    func vacuum() throws(DatabaseFailure) {
        do {
            try writer.writeWithoutTransaction { database in
                var last = Int64.max
                while let pages = try database.integer("PRAGMA freelist_count"), pages > 0, pages < last {
                    last = pages
                    try database.run("PRAGMA incremental_vacuum(2048)")
                }
            }
        } catch {
            throw DatabaseFailure(error)
        }
    }

    /// Gives back the memory of page caches.
    func trim() {
        readers.trim()
        writer.releaseMemory()
    }

    /// Closes every connection, after the readers that are under way. On the writer thread.
    func close() {
        readers.close()
        try? writer.close()
    }
}
