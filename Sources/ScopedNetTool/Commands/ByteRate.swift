/// Bytes a second as of `--limit-rate`: `200k`, `1.5M`, `4096` (pure). Units are powers of 1,024, as curl's.
struct ByteRate: Sendable, Hashable {
    let bytes: Int

    /// Nil for what is no positive number, or more than can be counted.
    init?(_ text: String) {
        var number = text[...]
        var unit = 1.0
        if let last = text.utf8.last, let power = Self.units[last | 0x20] {
            unit = power
            number = text.dropLast()
        }
        let isPlain = number.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
        guard isPlain, let value = Double(number), value * unit >= 1, value * unit < 1e15 else { return nil }
        bytes = Int(value * unit)
    }

    private static let units: [UInt8: Double] = [
        UInt8(ascii: "b"): 1, UInt8(ascii: "k"): 1_024, UInt8(ascii: "m"): 1_048_576, UInt8(ascii: "g"): 1_073_741_824,
    ]
}
