/// A change that another process made to the store, as the log of changes tells it.
struct ForeignChange {
    /// Nil: everything.
    var partition: String?
    /// Nil: the whole partition.
    var name: String?
    /// Not merely a newer version.
    var isInvalidation: Bool

    var key: EntryKey? {
        guard let partition, let name else { return nil }
        return EntryKey(name, partition: partition)
    }

    func concerns(_ key: EntryKey) -> Bool {
        guard let partition else { return true }
        guard key.partition.hasSameBytes(as: partition) else { return false }
        return name.map { key.name.hasSameBytes(as: $0) } ?? true
    }
}
