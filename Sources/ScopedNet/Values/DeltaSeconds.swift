/// A number of seconds in a field (RFC 9111 section 1.2.2).
enum DeltaSeconds {
    /// What larger numbers count as: 2^31 seconds, 68 years.
    static let largest = Double(1 << 31)

    /// Digits only: no sign, no point, no spaces. Leading zeros say nothing, and what is too large for a number is ``largest``.
    static func parse(_ text: some StringProtocol) -> Double? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return min(Double(text) ?? largest, largest)
    }

    /// The same of bytes.
    static func parse(_ bytes: UnsafeRawBufferPointer) -> Double? {
        guard !bytes.isEmpty else { return nil }
        var seconds: UInt64 = 0
        for byte in bytes {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            seconds = min(seconds * 10 + UInt64(byte - UInt8(ascii: "0")), 1 << 31)
        }
        return Double(seconds)
    }
}

extension Duration {
    /// As a number of seconds, from zero to ``DeltaSeconds/largest``.
    var deltaSeconds: Double { min(max(self / .seconds(1), 0), DeltaSeconds.largest) }
}
