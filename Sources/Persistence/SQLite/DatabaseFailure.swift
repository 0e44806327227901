import GRDB
import GRDBSQLite

/// The failure of a call to the database, by what is to be done about it.
enum DatabaseFailure: Error, Sendable, Equatable {
    /// The file is no store, or is not as it was written: it is replaced.
    case corrupt(String)
    /// Another connection held it for too long: tried again later.
    case busy
    /// The disk is full: memory alone until it is not.
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

extension DatabaseFailure {
    /// One sentence for the program.
    var reason: String {
        switch self {
        case .corrupt(let message), .unavailable(let message): message
        case .busy: "the database is busy"
        case .full: "the disk is full"
        }
    }
}

extension StoreError {
    init(_ failure: DatabaseFailure) {
        let code: Code =
            switch failure {
            case .corrupt: .damaged
            case .busy, .unavailable: .unavailable
            case .full: .diskFull
            }
        self.init(code, failure.reason)
    }
}
