import FoundationEssentials
import Persistence

/// Entries whose bytes follow from their key and version, so that whoever reads one can tell whether it is whole.
enum Content {
    static let keys = 40

    static func entry(_ key: Int, version: Int, body: NewBody) -> NewStoreEntry {
        NewStoreEntry(key: EntryKey("key-\(key)", partition: "p\(key % 3)"), metadata: metadata(key, version), body: body)
    }

    static func metadata(_ key: Int, _ version: Int) -> Data { Data("\(key) \(version) ".utf8) + bytes(200, seed: version &* 31 &+ key) }

    /// Mostly rows, now and then a file.
    static func length(_ key: Int, _ version: Int) -> Int {
        version % 7 == 0 ? 140_000 + version % 50_000 : (version &* 2_654_435_761 &+ key) % 12_000
    }

    static func body(_ key: Int, _ version: Int) -> Data { bytes(length(key, version), seed: version &* 131 &+ key) }

    static func bytes(_ count: Int, seed: Int) -> Data {
        var state = UInt64(bitPattern: Int64(seed)) &* 0x9E37_79B9_7F4A_7C15 | 1
        var words = [UInt64](repeating: 0, count: (count + 7) / 8)
        for index in words.indices {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            words[index] = state
        }
        return words.withUnsafeBytes { Data($0.prefix(count)) }
    }

    /// The version of an entry that is whole; nil when it is not.
    static func version(of entry: StoreEntry, key: Int) -> Int? {
        // By bytes: a blank and a combining mark behind it are one character.
        let words = entry.metadata.split(separator: 0x20, maxSplits: 2).prefix(2).compactMap { Int(String(decoding: $0, as: UTF8.self)) }
        guard words.count == 2, words[0] == key, entry.metadata == metadata(key, words[1]) else { return nil }
        let version = words[1]
        guard let body = try? entry.body.load(limit: 1 << 24), body == self.body(key, version) else { return nil }
        return version
    }
}
