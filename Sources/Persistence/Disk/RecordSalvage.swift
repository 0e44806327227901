import FoundationEssentials
import GRDB

/// The records of a database that is about to be replaced: those that can be read, and whose checksums say that they are as they were written.
///
/// A cache is fetched again; cookies and credentials in the same file are not. So what befalls entries, or a part of the file, costs the
/// records it has touched and no others.
struct RecordSalvage {
    private struct Name: Hashable {
        var namespace: ExactString
        var name: ExactString
    }

    /// Of the checksums, and so of the database that takes the rows over.
    private(set) var seed: UInt64
    private(set) var rows: [RecordRow] = []
    private var names: Set<Name> = []
    private var bytes = 0

    /// Beyond that nothing more is taken over.
    private static let mostBytes = 64 << 20

    /// - Returns: nil when the file is another program's, of another version, written with another key, or nothing in it can be read.
    /// - Throws: `unavailable` or `busy` when the disk does not let itself be read: what is there may be good.
    init?(of folder: StoreFolder, fingerprint: Data?) throws(DatabaseFailure) {
        guard Files.status(of: folder.database) != nil else { return nil }
        do {
            // Not read-only: what the log has is put in order first, as for every user of the file.
            let configuration = Schema.configuration(folder.database, readonly: false, secureDelete: false)
            let queue = try DatabaseQueue(path: folder.database, configuration: configuration)
            defer { try? queue.close() }
            guard let seed = try queue.unsafeRead({ try Self.seed(of: $0, fingerprint) }) else { return nil }
            self.seed = seed
            // Rows behind a damaged page are reached from the other end.
            for order in ["namespace, name", "namespace DESC, name DESC"] {
                var salvage = self
                let isWhole = try queue.unsafeRead { try salvage.read($0, order) }
                self = salvage
                if isWhole { break }
            }
        } catch {
            let failure = DatabaseFailure(error)
            guard case .corrupt = failure else { throw failure }
            return nil
        }
    }

    private static func seed(of database: Database, _ fingerprint: Data?) throws -> UInt64? {
        guard try database.integer("PRAGMA application_id") == Schema.applicationID,
            let version = try database.integer("PRAGMA user_version"), version >> 20 == StoreFolder.version,
            try SealingMark.fingerprint(of: database) == fingerprint
        else { return nil }
        return try Schema.seed(of: database)
    }

    /// - Returns: false when not all of the rows could be reached.
    private mutating func read(_ database: Database, _ order: String) throws -> Bool {
        do {
            try database.run("SELECT namespace, name, data, expires, checksum FROM record ORDER BY \(order)") { columns in
                let record = StoreRecord(
                    name: columns.string(1), data: columns.data(2),
                    expires: columns.isNull(3) ? nil : Date(milliseconds: columns.integer(3)))
                take(RecordRow(namespace: columns.string(0), record: record, checksum: columns.integer(4)))
            }
            return true
        } catch {
            let failure = DatabaseFailure(error)
            guard case .corrupt = failure else { throw failure }
            return false
        }
    }

    private mutating func take(_ row: RecordRow) {
        let size = row.namespace.utf8.count + row.record.name.utf8.count + row.record.data.count
        guard bytes + size <= Self.mostBytes, row.record.checksum(in: row.namespace, seed: seed) == row.checksum,
            names.insert(Name(namespace: ExactString(row.namespace), name: ExactString(row.record.name))).inserted
        else { return }
        bytes += size
        rows.append(row)
    }
}
