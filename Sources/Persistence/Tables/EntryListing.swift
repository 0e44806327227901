import FoundationEssentials
import GRDB

/// The listing of entries, in the order they were stored and without their bodies.
struct EntryListing: Sendable {
    let sealing: RowSealing

    /// Lists the next entries by id, `limit` at most: of one partition, or of all where that is nil. `id` is that of the last one seen.
    func list(partition: String?, after id: Int64, limit: Int, in database: Database) throws -> [EntrySummary] {
        var result: [EntrySummary] = []
        let condition = partition == nil ? "1" : "e.partition = ?3"
        var values: [SQLValue] = [.integer(id), .integer(Int64(limit))]
        if let partition { values.append(.bytes(sealing.stored(partition: partition))) }
        try database.run(
            "SELECT \(EntryRowFormat.columns), e.cost FROM entry e WHERE e.id > ?1 AND \(condition) ORDER BY e.id LIMIT ?2", values
        ) { row in
            let names = try sealing.openedNames(
                EntryKey(row.string(2), partition: row.string(1)), row.string(3), row.data(4), generation: row.integer(8))
            result.append(
                EntrySummary(
                    id: row.integer(0), key: names.key, variant: names.variant, metadata: names.metadata,
                    bodyLength: Int(clamping: row.integer(10)), isFile: row.integer(9) == BodyKind.file.rawValue,
                    storedAt: Date(milliseconds: row.integer(7)), lastUsed: Date(milliseconds: row.integer(14)),
                    freshUntil: row.isNull(5) ? nil : Date(milliseconds: row.integer(5)), cost: Int(clamping: row.integer(15))))
        }
        return result
    }
}
