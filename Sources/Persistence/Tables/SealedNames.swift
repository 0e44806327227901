import FoundationEssentials

/// The names and metadata of an entry, as they stand sealed in place of the metadata of its row.
struct SealedNames {
    var key: EntryKey
    var variant: String
    var metadata: Data

    var encoded: Data {
        var data = Data()
        for part in [Data(key.partition.utf8), Data(key.name.utf8), Data(variant.utf8)] {
            withUnsafeBytes(of: UInt32(clamping: part.count).littleEndian) { data.append(contentsOf: $0) }
            data.append(part)
        }
        return data + metadata
    }

    init(_ key: EntryKey, _ variant: String, _ metadata: Data) {
        self.key = key
        self.variant = variant
        self.metadata = metadata
    }

    /// Nil for anything that ``encoded`` is not.
    init?(decoding data: Data) {
        var rest = data[...]
        func text() -> String? {
            guard rest.count >= 4 else { return nil }
            let count = rest.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(4)
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return String(decoding: rest.prefix(count), as: UTF8.self)
        }
        guard let partition = text(), let name = text(), let variant = text() else { return nil }
        self.init(EntryKey(name, partition: partition), variant, Data(rest))
    }
}

extension StoreSealing {
    /// In place of a key.
    func hidden(_ key: EntryKey) -> EntryKey {
        EntryKey(hidden("\(key.partition.utf8.count) \(key.partition)\(key.name)", "name"), partition: hidden(key.partition, "partition"))
    }
}
