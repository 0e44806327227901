import FoundationEssentials
import GRDB

/// The way of a batch of changes into the tables, within one transaction: clears first, then key by key.
struct BatchWriter: Sendable {
    let entries: EntryTable
    let sealing: RowSealing
    /// The log that tells other processes; nil where there are none.
    let log: ChangeLog?
    let variantsPerKey: Int

    /// Applies a batch.
    ///
    /// - Returns: the keys whose puts came too late: somebody else had invalidated them, or removed the file of the body.
    func write(_ batch: WriteBackQueue.Batch, in database: Database, _ ledger: inout TransactionLedger, now: Int64) throws -> [EntryKey] {
        var refused: [EntryKey] = []
        if batch.clearsAll {
            try entries.deleteAll(in: database, &ledger)
            try log?.note(partition: nil, name: nil, isInvalidation: true, in: database)
        } else {
            for partition in batch.clearedPartitions {
                let stored = sealing.stored(partition: partition.text)
                try entries.deleteAll(of: stored, in: database, &ledger)
                try log?.note(partition: stored, name: nil, isInvalidation: true, in: database)
            }
        }
        for (key, write) in batch.writes {
            if try !apply(stored(write, of: key), to: sealing.stored(key), in: database, &ledger, now: now) { refused.append(key) }
        }
        try log?.trim(in: database)
        return refused
    }

    /// The changes of a key as rows take them. A body that is too large for a row gets its file before it is sealed, which makes it longer.
    private func stored(_ write: WriteBackQueue.Write, of key: EntryKey) throws -> WriteBackQueue.Write {
        guard sealing.isSealed else { return write }
        var stored = write
        stored.deletedVariants = write.deletedVariants.map { sealing.stored(variant: $0) }
        stored.updates = try write.updates.map { try sealing.stored($0, of: key) }
        stored.puts = try write.puts.map { put in
            var sealed = put
            let body = EntryBody(storage: try entries.bodies.settled(put.entry.body.storage))
            sealed.entry = try sealing.stored(put.entry, settled: body)
            return sealed
        }
        return stored
    }

    /// - Returns: false when a put was refused.
    private func apply(
        _ write: WriteBackQueue.Write, to key: EntryKey, in database: Database, _ ledger: inout TransactionLedger, now: Int64
    ) throws -> Bool {
        var rows = try entries.rows(of: key, in: database)
        if write.deletesKey {
            for row in rows { try entries.delete(row, in: database, &ledger) }
            rows = []
        }
        for variant in write.deletedVariants {
            guard let index = rows.firstIndex(where: { $0.variant.hasSameBytes(as: variant) }) else { continue }
            try entries.delete(rows.remove(at: index), in: database, &ledger)
        }
        for update in write.updates {
            guard let row = rows.first(where: { $0.generation == update.generation }) else { continue }
            try entries.update(row, of: key, with: update, in: database, &ledger)
        }
        var isComplete = true
        for put in write.puts {
            if let log, let ticket = put.ticket, try log.isInvalidated(key, since: ticket.shared, in: database) {
                isComplete = false
                continue
            }
            if let index = rows.firstIndex(where: { $0.variant.hasSameBytes(as: put.entry.variant) }) {
                try entries.delete(rows.remove(at: index), in: database, &ledger)
            }
            while rows.count >= variantsPerKey { try entries.delete(rows.removeFirst(), in: database, &ledger) }
            do {
                try entries.insert(put.entry, in: database, &ledger, now: now)
            } catch let error as StoreError where error.code == .missing {
                // The body's file was removed before it was at its place.
                isComplete = false
            }
        }
        try log?.note(partition: key.partition, name: key.name, isInvalidation: write.isInvalidation, in: database)
        return isComplete
    }
}
