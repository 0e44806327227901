/// Which keys the disk may have, in a fixed number of bytes: a Bloom filter. Pure.
///
/// What it does not know was never put, so that nobody has to ask the disk for it. It takes what was removed for still there, and with very many
/// keys (a quarter of a million make every sixth answer wrong) more and more of what never was: then the disk is asked, and that is all.
struct KeyFilter: Sendable {
    private var words: [UInt64]
    /// Of the hashes: those of a database come from it as they are stored there.
    private let seed: UInt64
    private static let bitCount: UInt64 = 1 << 20

    /// 128 KiB, whatever it holds.
    init(seed: UInt64) {
        words = [UInt64](repeating: 0, count: Int(Self.bitCount / 64))
        self.seed = seed
    }

    mutating func insert(_ key: EntryKey) { insert(hash: key.hash(seed: seed)) }

    mutating func insert(hash: Int64) {
        for bit in Self.bits(hash) { words[Int(bit / 64)] |= 1 << (bit % 64) }
    }

    func mayContain(_ key: EntryKey) -> Bool {
        Self.bits(key.hash(seed: seed)).allSatisfy { words[Int($0 / 64)] >> ($0 % 64) & 1 == 1 }
    }

    /// Four places, out of the two halves of one hash (Kirsch and Mitzenmacher, "Less hashing, same performance").
    private static func bits(_ hash: Int64) -> some Sequence<UInt64> {
        let hash = UInt64(bitPattern: hash)
        let (first, step) = (hash & 0xFFFF_FFFF, hash >> 32 | 1)
        return (0..<4 as Range<UInt64>).lazy.map { (first &+ $0 &* step) % bitCount }
    }
}
