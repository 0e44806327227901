import FoundationEssentials
import GRDB

extension StoreDatabase {
    func write(_ records: [StoreRecord], in namespace: String) throws(DatabaseFailure) {
        try write(RecordChange(kept: records), in: namespace)
    }

    /// All of it or nothing.
    func write(_ change: RecordChange, in namespace: String) throws(DatabaseFailure) {
        try write { database in
            if change.replacesAll { try remove(nil, in: namespace, database) }
            if !change.gone.isEmpty { try remove(change.gone, in: namespace, database) }
            for plain in change.kept {
                let record = try stored(plain, in: namespace)
                try database.run(
                    "INSERT OR REPLACE INTO record(namespace, name, data, expires, checksum) VALUES(?, ?, ?, ?, ?)",
                    [
                        .bytes(namespace), .bytes(record.name), .blob(record.data),
                        record.expires.map { .integer($0.milliseconds) } ?? .null, .integer(record.checksum(in: namespace, seed: seed)),
                    ])
            }
        }
    }

    /// One record or all, without those that have expired.
    func records(in namespace: String, name: String?, now: Int64) throws(DatabaseFailure) -> [StoreRecord] {
        try readers.read { database in
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
                records.append(try opened(record, in: namespace))
            }
            return records
        }
    }

    func removeRecords(_ names: [String]?, in namespace: String) throws(DatabaseFailure) {
        try write { try remove(names, in: namespace, $0) }
    }

    private func remove(_ names: [String]?, in namespace: String, _ database: Database) throws {
        guard let names else {
            try database.run("DELETE FROM record WHERE namespace = ?", [.bytes(namespace)])
            return
        }
        for name in names {
            try database.run("DELETE FROM record WHERE namespace = ? AND name = ?", [.bytes(namespace), .bytes(name)])
        }
    }

    func removeRecords(expiredBefore now: Int64) throws(DatabaseFailure) {
        try write { try $0.run("DELETE FROM record WHERE expires <= ?", [.integer(now)]) }
    }
}
