/// A look at the files of a store: one that another process is using, or one that is damaged. For tools.
///
/// Nothing is made, replaced, repaired or removed, and no use is noted. What its process has not written yet is not seen
/// (``StoreLimits/dirtyAge``). All calls block for as long as the disk does.
public final class StoreInspector: Sendable {
    private let database: StoreDatabase

    /// - Parameters:
    ///   - directory: that of ``StoreConfiguration``.
    ///   - sealing: that of the store. Without it names and metadata of an encrypted store are listed as they are on disk, and bodies cannot be
    ///     read; totals and `verify` need no key.
    /// - Throws: `missing` when there is no store, `damaged` when its file cannot be read as one, `unavailable` when it is another program's or
    ///   may not be read.
    public init(directory: String, sealing: (any StoreSealing)? = nil) throws(StoreError) {
        let folder = StoreFolder(directory)
        guard Files.status(of: folder.database) != nil else { throw StoreError(.missing, "there is no store in \(directory)") }
        do throws(DatabaseFailure) { database = try StoreDatabase(inspecting: folder, sealing) } catch { throw StoreError(error) }
    }

    deinit { database.close() }

    /// Whether there is a store in a folder, readable or not.
    public static func isStore(_ directory: String) -> Bool { Files.status(of: StoreFolder(directory).database) != nil }

    /// ``StoreConfiguration/contentVersion`` of whoever made it.
    public var contentVersion: Int { Int(database.options.contentVersion) }

    /// Whether names, metadata and bodies are encrypted (``StoreSealing``).
    ///
    /// - Throws: `damaged`.
    public func isSealed() throws(StoreError) -> Bool {
        do throws(DatabaseFailure) { return try database.isSealed() } catch { throw StoreError(error) }
    }

    /// Entries and bytes, as the store counts them.
    public func totals() throws(StoreError) -> (entries: Int, bytes: Int) {
        do throws(DatabaseFailure) {
            let totals = try database.readTotals()
            return (totals.entries, totals.bytes)
        } catch { throw StoreError(error) }
    }

    /// As `Store.list`.
    public func list(partition: String? = nil, after: Int64 = 0, limit: Int = 100) throws(StoreError) -> [EntrySummary] {
        do throws(DatabaseFailure) { return try database.list(partition: partition, after: after, limit: max(0, limit)) } catch {
            throw StoreError(error)
        }
    }

    /// All variants of a key, with their bodies, the newest last.
    ///
    /// - Throws: `damaged` when one is not as it was written.
    public func entries(_ key: EntryKey) throws(StoreError) -> [StoreEntry] {
        do throws(DatabaseFailure) { return try database.load(key).entries } catch { throw StoreError(error) }
    }

    /// As `Store.verify`.
    public func verify() throws(StoreError) -> VerificationReport {
        do throws(DatabaseFailure) { return try database.verify() } catch { throw StoreError(error) }
    }
}
