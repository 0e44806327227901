import FoundationEssentials
import GRDB

/// The row of a record.
struct RecordRow: Sendable {
    var namespace: String
    /// As it is on disk: its data are sealed, where the store is.
    var record: StoreRecord
    var checksum: Int64
}

/// The statements on the table of records.
struct RecordTable: Sendable {
    /// Of the checksums.
    let seed: UInt64
    let sealing: RowSealing

    /// Applies a change to the records of a namespace, within a transaction.
    func apply(_ change: RecordChange, to namespace: String, in database: Database) throws {
        if change.replacesAll { try remove(nil, of: namespace, in: database) }
        if !change.gone.isEmpty { try remove(change.gone, of: namespace, in: database) }
        for plain in change.kept {
            let record = try sealing.stored(plain, in: namespace)
            let row = RecordRow(namespace: namespace, record: record, checksum: record.checksum(in: namespace, seed: seed))
            try insert(row, orElse: .replace, in: database)
        }
    }

    /// Reads one record or all of a namespace, by name and without those that have expired.
    ///
    /// - Throws: `corrupt` when one is not as it was written.
    func records(of namespace: String, name: String?, now: Int64, in database: Database) throws -> [StoreRecord] {
        var records: [StoreRecord] = []
        var values: [SQLValue] = [.bytes(namespace), .integer(now)]
        if let name { values.append(.bytes(name)) }
        try database.run(
            """
            SELECT name, data, expires, checksum FROM record
            WHERE namespace = ?1 AND (expires IS NULL OR expires > ?2)\(name == nil ? "" : " AND name = ?3") ORDER BY name
            """, values
        ) { row in
            let record = StoreRecord(
                name: row.string(0), data: row.data(1), expires: row.isNull(2) ? nil : Date(milliseconds: row.integer(2)))
            guard record.checksum(in: namespace, seed: seed) == row.integer(3) else {
                throw DatabaseFailure.corrupt("a record is damaged")
            }
            records.append(try sealing.opened(record, in: namespace))
        }
        return records
    }

    /// Removes records by name; all of the namespace when `names` is nil.
    func remove(_ names: [String]?, of namespace: String, in database: Database) throws {
        guard let names else {
            try database.run("DELETE FROM record WHERE namespace = ?", [.bytes(namespace)])
            return
        }
        for name in names {
            try database.run("DELETE FROM record WHERE namespace = ? AND name = ?", [.bytes(namespace), .bytes(name)])
        }
    }

    /// Removes the records of all namespaces that have expired.
    func remove(expiredBefore now: Int64, in database: Database) throws {
        try database.run("DELETE FROM record WHERE expires <= ?", [.integer(now)])
    }

    /// The fate of a row whose name is taken.
    enum Conflict: String { case replace = "REPLACE", ignore = "IGNORE" }

    /// Inserts a row as it is.
    func insert(_ row: RecordRow, orElse conflict: Conflict, in database: Database) throws {
        try database.run(
            "INSERT OR \(conflict.rawValue) INTO record(namespace, name, data, expires, checksum) VALUES(?, ?, ?, ?, ?)",
            [
                .bytes(row.namespace), .bytes(row.record.name), .blob(row.record.data),
                row.record.expires.map { .integer($0.milliseconds) } ?? .null, .integer(row.checksum),
            ])
    }
}

extension StoreRecord {
    /// The checksum over all of a row, with its namespace in it.
    func checksum(in namespace: String, seed: UInt64) -> Int64 {
        var sum = Checksum(seed: seed)
        sum.add(namespace)
        sum.add(name)
        sum.add(data)
        sum.add(expires?.milliseconds ?? -1)
        return sum.stored
    }
}
