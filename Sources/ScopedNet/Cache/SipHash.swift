/// SipHash-2-4 with a result of 128 bits (Aumasson and Bernstein, 2012): a keyed hash, so that what is kept of a cookie or a password tells
/// nothing about it without the key.
package struct SipHash: Sendable {
    private let key0: UInt64
    private let key1: UInt64

    /// - Parameter key: 16 bytes; nil for any other count.
    package init?(key: some Collection<UInt8>) {
        guard key.count == 16 else { return nil }
        key0 = Self.word(key.prefix(8))
        key1 = Self.word(key.suffix(8))
    }

    package init(key0: UInt64, key1: UInt64) {
        self.key0 = key0
        self.key1 = key1
    }

    /// 16 bytes.
    package func hash(_ bytes: [UInt8]) -> [UInt8] {
        var state = State(key0, key1)
        let whole = bytes.count & ~7
        for start in stride(from: 0, to: whole, by: 8) { state.absorb(Self.word(bytes[start..<(start + 8)])) }
        state.absorb(Self.word(bytes[whole...]) | UInt64(truncatingIfNeeded: bytes.count) << 56)
        let (low, high) = state.finish()
        return Self.bytes(low) + Self.bytes(high)
    }

    /// 32 hexadecimal digits.
    package func text(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: hash(bytes).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    private static func word(_ bytes: some Collection<UInt8>) -> UInt64 {
        var word: UInt64 = 0
        for byte in bytes.reversed() { word = word << 8 | UInt64(byte) }
        return word
    }

    private static func bytes(_ word: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * UInt64($0))) } }

    private struct State {
        var v0: UInt64
        var v1: UInt64
        var v2: UInt64
        var v3: UInt64

        init(_ key0: UInt64, _ key1: UInt64) {
            v0 = key0 ^ 0x736f_6d65_7073_6575
            v1 = key1 ^ 0x646f_7261_6e64_6f6d ^ 0xee
            v2 = key0 ^ 0x6c79_6765_6e65_7261
            v3 = key1 ^ 0x7465_6462_7974_6573
        }

        mutating func absorb(_ word: UInt64) {
            v3 ^= word
            round()
            round()
            v0 ^= word
        }

        mutating func finish() -> (UInt64, UInt64) {
            v2 ^= 0xee
            for _ in 0..<4 { round() }
            let low = v0 ^ v1 ^ v2 ^ v3
            v1 ^= 0xdd
            for _ in 0..<4 { round() }
            return (low, v0 ^ v1 ^ v2 ^ v3)
        }

        private mutating func round() {
            v0 = v0 &+ v1
            v1 = rotate(v1, 13) ^ v0
            v0 = rotate(v0, 32)
            v2 = v2 &+ v3
            v3 = rotate(v3, 16) ^ v2
            v0 = v0 &+ v3
            v3 = rotate(v3, 21) ^ v0
            v2 = v2 &+ v1
            v1 = rotate(v1, 17) ^ v2
            v2 = rotate(v2, 32)
        }

        private func rotate(_ word: UInt64, _ count: UInt64) -> UInt64 { word << count | word >> (64 - count) }
    }
}
