import FoundationEssentials
import GRDB
import GRDBSQLite

/// The value that a parameter is bound to.
enum SQLValue {
    case null
    case integer(Int64)
    case blob(Data)
    /// The bytes of a string, as a blob: SQLite's text ends at the first NUL, a key does not.
    case bytes(String)
}

/// The row a statement is at. Valid within the call it is given to.
struct SQLRow {
    fileprivate let handle: OpaquePointer

    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    /// A number of bytes or entries. Bounded, so that sums of them are.
    /// - Throws: `corrupt` when it cannot be one.
    func size(_ column: Int32) throws(DatabaseFailure) -> Int {
        let number = integer(column)
        guard number >= 0, number <= 1 << 44 else { throw DatabaseFailure.corrupt("a size that cannot be") }
        return Int(number)
    }

    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    func data(_ column: Int32) -> Data {
        guard let bytes = sqlite3_column_blob(handle, column) else { return Data() }
        return Data(bytes: bytes, count: Int(sqlite3_column_bytes(handle, column)))
    }

    func string(_ column: Int32) -> String {
        guard let bytes = sqlite3_column_blob(handle, column) else { return "" }
        return String(decoding: UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(handle, column))), as: UTF8.self)
    }
}

extension Database {
    /// Runs a statement of the cache to its end. It never stays half-way: that would hold a read transaction, and with it the checkpoint.
    ///
    /// GRDB prepares and keeps the statements, and guards the connection; stepping goes to SQLite directly, because a lookup is a few
    /// microseconds long.
    func run(_ sql: String, _ values: [SQLValue] = [], row: (SQLRow) throws -> Void = { _ in }) throws {
        let statement = try cachedStatement(sql: sql)
        let handle = statement.sqliteStatement
        defer {
            sqlite3_reset(handle)
            sqlite3_clear_bindings(handle)
        }
        for (index, value) in values.enumerated() { try bind(value, to: handle, at: Int32(index + 1)) }
        while true {
            let code = sqlite3_step(handle)
            switch code {
            case SQLITE_DONE: return
            case SQLITE_ROW: try row(SQLRow(handle: handle))
            default: throw DatabaseFailure(code: sqlite3_extended_errcode(sqlite3_db_handle(handle)), message: errorMessage)
            }
        }
    }

    /// The first column of the first row.
    func integer(_ sql: String, _ values: [SQLValue] = []) throws -> Int64? {
        var result: Int64?
        try run(sql, values) { row in
            if result == nil && !row.isNull(0) { result = row.integer(0) }
        }
        return result
    }

    private func bind(_ value: SQLValue, to handle: OpaquePointer, at index: Int32) throws {
        let code: Int32
        switch value {
        case .null: code = sqlite3_bind_null(handle, index)
        case .integer(let number): code = sqlite3_bind_int64(handle, index, number)
        case .blob(let data): code = data.withUnsafeBytes { Self.bind($0, to: handle, at: index) }
        case .bytes(let text): code = text.withBytes { Self.bind($0, to: handle, at: index) }
        }
        guard code == SQLITE_OK else { throw DatabaseFailure(code: code, message: errorMessage) }
    }

    private static func bind(_ bytes: UnsafeRawBufferPointer, to handle: OpaquePointer, at index: Int32) -> Int32 {
        // A blob without bytes and without an address would be NULL.
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return sqlite3_bind_zeroblob(handle, index, 0) }
        // Safety: SQLITE_TRANSIENT, (sqlite3_destructor_type)-1 in sqlite3.h: SQLite copies the bytes before it returns.
        return sqlite3_bind_blob64(handle, index, start, sqlite3_uint64(bytes.count), unsafeBitCast(-1, to: sqlite3_destructor_type.self))
    }

    private var errorMessage: String { sqliteConnection.map { String(cString: sqlite3_errmsg($0)) } ?? "closed" }
}
