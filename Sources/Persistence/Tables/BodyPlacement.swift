import FoundationEssentials

/// The decision whether a body becomes a row or a file, and the way of a file to its place.
struct BodyPlacement: Sendable {
    let folder: StoreFolder
    /// Larger bodies get a file.
    let inlineBytes: Int
    let sealing: (any StoreSealing)?

    /// Gives bytes that came in one piece, and are too many for a row, a file after all.
    func settled(_ storage: EntryBody.Storage) throws -> EntryBody.Storage {
        guard case .data(let data) = storage, data.count > inlineBytes else { return storage }
        let limits = BodyWriter.Limits(inline: inlineBytes, maximum: data.count)
        let writer = BodyWriter(limits: limits, sealing: sealing) { [folder] () throws(StoreError) in try folder.makeTemporaryFile() }
        try writer.write(data)
        return try writer.finish().storage
    }

    /// Moves a body to its place for a transaction, and hands out its name for one row.
    ///
    /// - Throws: `missing` when somebody removed the file before; `unavailable` when a row has it.
    func place(_ file: BodyFile, _ ledger: inout TransactionLedger) throws -> String {
        if let temporary = file.temporaryFile {
            let name = try folder.adopt(temporary)
            ledger.adopted.append(name)
            guard let path = folder.bodyPath(name) else { throw DatabaseFailure.unavailable("a body without a place") }
            file.settle(at: path, name: name)
        }
        // An entry that was read and is put again under another key would share its file with the first.
        guard let name = file.takeName() else { throw DatabaseFailure.unavailable("a body that is stored already") }
        return name
    }
}
