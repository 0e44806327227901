import GRDB

/// The log of changes in the database, by which processes that share a store learn what the others did.
///
/// It keeps the last few thousand changes. A process that was away for longer forgets all it knew: that costs it questions to the disk, and never
/// a wrong answer.
struct ChangeLog: Sendable {
    /// Tells this store's changes from those of others.
    let origin: Int64
    /// Names are sealed in the rows, and cannot be told back.
    let hidesNames: Bool

    static let kept: Int64 = 4096

    /// Notes a change: of a key, of a partition where there is no name, or of everything where there is no partition either.
    func note(partition: String?, name: String?, isInvalidation: Bool, in database: Database) throws {
        try database.run(
            "INSERT INTO change(origin, partition, name, invalidation) VALUES(?, ?, ?, ?)",
            [
                .integer(origin), partition.map { .bytes($0) } ?? .null, name.map { .bytes($0) } ?? .null, .integer(isInvalidation ? 1 : 0),
            ])
    }

    /// True when somebody else invalidated the key, which is as rows have it, after the log stood at `position`, or when the log does not reach
    /// back so far. Own invalidations are judged in memory.
    func isInvalidated(_ key: EntryKey, since position: Int64, in database: Database) throws -> Bool {
        let oldest = try database.integer("SELECT min(position) FROM change") ?? 0
        if oldest > position + 1 { return true }
        return try database.integer(
            """
            SELECT 1 FROM change WHERE position > ? AND origin <> ? AND invalidation = 1
                AND (partition IS NULL OR partition = ? AND (name IS NULL OR name = ?)) LIMIT 1
            """, [.integer(position), .integer(origin), .bytes(key.partition), .bytes(key.name)]) != nil
    }

    /// Forgets the oldest changes once there are twice as many as are kept.
    func trim(in database: Database) throws {
        let newest = try database.integer("SELECT max(position) FROM change") ?? 0
        let oldest = try database.integer("SELECT min(position) FROM change") ?? 0
        guard newest - oldest > 2 * Self.kept else { return }
        try database.run("DELETE FROM change WHERE position <= ?", [.integer(newest - Self.kept)])
    }

    /// The newest position; 0 of a log that never had a change.
    static func position(in database: Database) throws -> Int64 { try database.integer("SELECT max(position) FROM change") ?? 0 }

    /// Reads what others changed after a position.
    ///
    /// - Returns: the changes in their order, or nil where the log does not reach back so far; and the newest position.
    func changes(after position: Int64, in database: Database) throws -> (changes: [ForeignChange]?, position: Int64) {
        var changes: [ForeignChange] = []
        var newest = position
        var expected = position + 1
        var hasGap = false
        try database.run(
            "SELECT position, origin, partition, name, invalidation FROM change WHERE position > ? ORDER BY position", [.integer(position)]
        ) { row in
            newest = row.integer(0)
            if newest != expected { hasGap = true }
            expected = newest + 1
            guard row.integer(1) != origin else { return }
            // A hidden name cannot be told back: everything memory knows may be concerned.
            if hidesNames {
                changes = [
                    ForeignChange(partition: nil, name: nil, isInvalidation: changes.first?.isInvalidation == true || row.integer(4) != 0)
                ]
                return
            }
            changes.append(
                ForeignChange(
                    partition: row.isNull(2) ? nil : row.string(2), name: row.isNull(3) ? nil : row.string(3),
                    isInvalidation: row.integer(4) != 0))
        }
        return (hasGap ? nil : changes, newest)
    }
}
