import FoundationEssentials
import GRDB

/// The mark in a database that tells with which key it was written, if with any. A record in a namespace nobody else can name.
enum SealingMark {
    private static let namespace = "\u{0}sealing"
    private static let name = "key"

    /// Checks that the store was written with this key, or without one; a new one is marked.
    ///
    /// - Throws: `corrupt` when it was not, so that it is replaced.
    static func claim(_ database: Database, for sealing: (any StoreSealing)?) throws {
        try database.inTransaction(.immediate) {
            let found = try fingerprint(of: database)
            guard found != sealing?.fingerprint else { return .rollback }
            let rows = try database.integer("SELECT (SELECT count(*) FROM entry) + (SELECT count(*) FROM record)") ?? 0
            guard rows == 0, let sealing else { throw DatabaseFailure.corrupt("the store was written with another key, or without one") }
            try database.run(
                "INSERT INTO record(namespace, name, data, checksum) VALUES(?, ?, ?, 0)",
                [.bytes(namespace), .bytes(name), .blob(sealing.fingerprint)])
            return .commit
        }
    }

    /// Nil for a store that is not sealed.
    static func fingerprint(of database: Database) throws -> Data? {
        var found: Data?
        try database.run("SELECT data FROM record WHERE namespace = ? AND name = ?", [.bytes(namespace), .bytes(name)]) { row in
            found = row.data(0)
        }
        return found
    }

    /// The bytes that each frame of a body file has beyond its content; known without the key, too.
    static func frameOverhead(of fingerprint: Data?) -> Int {
        guard let fingerprint, fingerprint.count == 20 else { return 0 }
        return fingerprint.suffix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
    }
}
