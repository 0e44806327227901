import FoundationEssentials

/// The line between memory, which has entries and records as they are, and their rows, which have them sealed. Without a ``StoreSealing``
/// nothing changes here.
struct RowSealing: Sendable {
    let sealing: (any StoreSealing)?

    /// True where rows have something else than memory.
    var isSealed: Bool { sealing != nil }

    // MARK: To rows

    /// The name rows have for a key.
    func stored(_ key: EntryKey) -> EntryKey { sealing?.hidden(key) ?? key }

    /// The name rows have for a partition.
    func stored(partition: String) -> String { sealing?.hidden(partition, "partition") ?? partition }

    /// The name rows have for a variant.
    func stored(variant: String) -> String { sealing?.hidden(variant, "variant") ?? variant }

    /// The update of an entry's metadata as its row takes it.
    func stored(_ update: MetadataUpdate, of key: EntryKey) throws -> MetadataUpdate {
        guard let sealing else { return update }
        var sealed = update
        sealed.variant = stored(variant: update.variant)
        let names = SealedNames(key, update.variant, update.metadata)
        sealed.metadata = try sealing.seal(names.encoded, context: SealingContext.metadata(update.generation))
        return sealed
    }

    /// The entry as its row takes it, with the body as it was settled. A body in a file is sealed already, frame by frame.
    func stored(_ entry: StoreEntry, settled body: EntryBody) throws -> StoreEntry {
        guard let sealing else { return entry }
        let names = SealedNames(entry.key, entry.variant, entry.metadata)
        var body = body
        if let data = body.data {
            body = EntryBody(storage: .data(try sealing.seal(data, context: SealingContext.body(entry.generation))))
        }
        return StoreEntry(
            key: stored(entry.key), variant: stored(variant: entry.variant),
            metadata: try sealing.seal(names.encoded, context: SealingContext.metadata(entry.generation)), body: body,
            storedAt: entry.storedAt, freshUntil: entry.freshUntil, isRevalidatable: entry.isRevalidatable, generation: entry.generation)
    }

    /// The record as its row takes it: its name stays visible.
    func stored(_ record: StoreRecord, in namespace: String) throws -> StoreRecord {
        guard let sealing else { return record }
        var sealed = record
        sealed.data = try sealing.seal(record.data, context: SealingContext.record(record.name, in: namespace))
        return sealed
    }

    // MARK: From rows

    /// Opens the entry of a row. `key` is the one it was looked up by; nil when that is to be found out.
    ///
    /// - Throws: `corrupt` when it does not open, or is another's.
    func opened(_ entry: StoreEntry, of key: EntryKey?) throws -> StoreEntry {
        guard let sealing else { return entry }
        let names = try names(entry.metadata, generation: entry.generation, sealing)
        guard key == nil || key == names.key else { throw DatabaseFailure.corrupt("a row is another entry's") }
        var body = entry.body
        if let data = body.data {
            body = EntryBody(
                storage: .data(
                    try opening { () throws(StoreError) in
                        try sealing.open(data, context: SealingContext.body(entry.generation))
                    }))
        }
        return StoreEntry(
            key: names.key, variant: names.variant, metadata: names.metadata, body: body, storedAt: entry.storedAt,
            freshUntil: entry.freshUntil, isRevalidatable: entry.isRevalidatable, generation: entry.generation)
    }

    /// Opens the names of a row. In a store whose key is not known they are those of the row.
    func openedNames(_ key: EntryKey, _ variant: String, _ metadata: Data, generation: Int64) throws -> SealedNames {
        guard let sealing else { return SealedNames(key, variant, metadata) }
        return try names(metadata, generation: generation, sealing)
    }

    /// Opens the record of a row.
    ///
    /// - Throws: `corrupt` when it does not open.
    func opened(_ record: StoreRecord, in namespace: String) throws -> StoreRecord {
        guard let sealing else { return record }
        var opened = record
        opened.data = try opening { () throws(StoreError) in
            try sealing.open(record.data, context: SealingContext.record(record.name, in: namespace))
        }
        return opened
    }

    private func names(_ metadata: Data, generation: Int64, _ sealing: any StoreSealing) throws -> SealedNames {
        let text = try opening { () throws(StoreError) in try sealing.open(metadata, context: SealingContext.metadata(generation)) }
        guard let names = SealedNames(decoding: text) else { throw DatabaseFailure.corrupt("a row without names") }
        return names
    }

    private func opening(_ body: () throws(StoreError) -> Data) throws -> Data {
        do throws(StoreError) { return try body() } catch { throw DatabaseFailure.corrupt(error.message) }
    }
}
