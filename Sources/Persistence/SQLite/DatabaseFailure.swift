import GRDB
import GRDBSQLite

/// What became of a call to the database, by what is to be done about it.
enum DatabaseFailure: Error, Sendable, Equatable {
    /// The file is no store, or is not as it was written: it is replaced.
    case corrupt(String)
    /// Somebody else held it for too long: tried again later.
    case busy
    /// No room: no disk until there is.
    case full
    /// It cannot be used: no disk until it can.
    case unavailable(String)

    /// By SQLite's extended result code (https://sqlite.org/rescode.html).
    init(code: Int32, message: String) {
        self = Self.primary(code & 0xff, message)
    }

    init(_ error: any Error) {
        switch error {
        case let failure as DatabaseFailure: self = failure
        case let error as DatabaseError:
            self.init(
                code: error.extendedResultCode.rawValue, message: error.message ?? "SQLite error \(error.extendedResultCode.rawValue)")
        case let error as StoreError: self = error.code == .diskFull ? .full : .unavailable(error.message)
        default: self = .unavailable("\(error)")
        }
    }

    private static func primary(_ code: Int32, _ message: String) -> DatabaseFailure {
        switch code {
        case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL, SQLITE_INTERRUPT: .busy
        case SQLITE_FULL: .full
        // A missing table or column, and content no statement here writes: somebody else's file, or a damaged one.
        case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT, SQLITE_ERROR, SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_SCHEMA:
            .corrupt(message)
        // SQLITE_IOERR among them, whatever the system refused: that a disk could not be read once says nothing of what is on it. A file that is
        // cut short or damaged is SQLITE_CORRUPT when it is opened again.
        default: .unavailable(message)
        }
    }
}

extension StoreError {
    init(_ failure: DatabaseFailure) {
        self =
            switch failure {
            case .corrupt(let message): StoreError(.damaged, message)
            case .busy: StoreError(.unavailable, "the database is busy")
            case .full: StoreError(.diskFull, "the disk is full")
            case .unavailable(let message): StoreError(.unavailable, message)
            }
    }
}
