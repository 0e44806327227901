import CStore
import GRDB
import GRDBSQLite
import Glibc

/// The header of a database's shared memory, which every commit changes: whether anything was committed since a look costs two reads
/// of memory, and neither a call of SQLite nor one of the system.
///
/// It is what SQLite itself compares at the beginning of a read, for `PRAGMA data_version` as well
/// ([WAL-Index File Format](https://sqlite.org/walformat.html#the_wal_index_header), section 2.3.1): two copies of 48 bytes, of which the
/// second is written first. Copies that are equal to an earlier header mean that no later one was published. While the database is open
/// nobody truncates the file behind the mapping, and the page is locked in memory where the limits of the process allow it.
struct WriteAheadIndex {
    /// One header, as found. Only equality has a meaning.
    struct Header: Equatable {
        fileprivate var words = cstore_wal_header()

        static func == (left: Header, right: Header) -> Bool { cstore_wal_headers_equal(left.words, right.words) }
    }

    private let memory: UnsafeRawPointer

    /// Asks a connection for its mapping, which lasts until every connection of this process to the file is closed.
    ///
    /// - Returns: nil where there is none: not in WAL mode, or no transaction was ever begun.
    init?(of database: Database) {
        var file: UnsafeMutablePointer<sqlite3_file>?
        let code = withUnsafeMutablePointer(to: &file) {
            sqlite3_file_control(database.sqliteConnection, "main", SQLITE_FCNTL_FILE_POINTER, $0)
        }
        guard code == SQLITE_OK, let file, let methods = file.pointee.pMethods, methods.pointee.iVersion >= 2,
            let map = methods.pointee.xShmMap
        else { return nil }
        // Regions are of this size; the first is there as soon as a transaction was begun. It is not to be made here (the zero).
        var memory: UnsafeMutableRawPointer?
        let mapped = withUnsafeMutablePointer(to: &memory) { pointer in
            pointer.withMemoryRebound(to: UnsafeMutableRawPointer?.self, capacity: 1) { map(file, 0, 32 << 10, 0, $0) }
        }
        guard mapped == SQLITE_OK, let memory else { return nil }
        mlock(memory, MemoryLayout<cstore_wal_header>.size * 2)
        self.memory = UnsafeRawPointer(memory)
    }

    /// - Returns: nil while somebody writes it.
    func header() -> Header? {
        var header = Header()
        return cstore_read_wal_header(memory, &header.words) ? header : nil
    }
}
