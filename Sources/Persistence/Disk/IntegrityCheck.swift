import GRDB

/// The check of everything in a store: SQLite's own, every row with its body, every file, and the totals.
struct IntegrityCheck: Sendable {
    let connections: DatabaseConnections
    let format: EntryRowFormat

    /// Entries of one read transaction: none lasts, as it would hold up the checkpoint.
    private static let batch = 64

    /// Reads everything, and says what is wrong.
    ///
    /// - Throws: what keeps the database from being read. Damage is in the report.
    func report() throws(DatabaseFailure) -> VerificationReport {
        var report = VerificationReport()
        do throws(DatabaseFailure) {
            let answer = try connections.read { database in
                var answer = ""
                try database.run("SELECT * FROM pragma_quick_check(1)") { row in answer = row.string(0) }
                return answer
            }
            if answer != "ok" { report.problems.append("the database: \(answer)") }
            var last: Int64 = 0
            while let next = try checkEntries(after: last, &report) { last = next }
            let totals = try connections.read { try StoreTotals(of: $0) }
            if totals.bytes != report.bytes || totals.entries != report.entries {
                report.problems.append(
                    "the totals say \(totals.entries) entries and \(totals.bytes) bytes, there are \(report.entries) and \(report.bytes)")
            }
        } catch DatabaseFailure.corrupt(let message) {
            report.problems.append(message)
        }
        return report
    }

    /// - Returns: where to go on; nil at the end.
    private func checkEntries(after id: Int64, _ report: inout VerificationReport) throws(DatabaseFailure) -> Int64? {
        var last: Int64?
        var bytes = 0
        var entries: [StoreEntry] = []
        try connections.read { database in
            try database.run(
                """
                SELECT \(EntryRowFormat.columns), b.data, e.cost FROM entry e LEFT JOIN body b ON b.id = e.id
                WHERE e.id > ? ORDER BY e.id LIMIT \(Self.batch)
                """, [.integer(id)]
            ) { row in
                last = row.integer(0)
                bytes += try row.size(16)
                let key = EntryKey(row.string(2), partition: row.string(1))
                entries.append(try format.entry(of: row, key: key, data: { row.data(15) }))
            }
        }
        report.bytes += bytes
        report.entries += entries.count
        for entry in entries where entry.body.data == nil {
            do throws(StoreError) {
                try entry.body.makeReader().check()
            } catch {
                report.problems.append("the body of \(entry.key): \(error)")
            }
        }
        return last
    }
}
