/// A number of seconds in a field (RFC 9111 section 1.2.2).
enum DeltaSeconds {
    /// What larger numbers count as: 2^31 seconds, 68 years.
    static let largest = Double(1 << 31)

    /// Digits only: no sign, no point, no spaces. Leading zeros say nothing, and what is too large for a number is ``largest``.
    static func parse(_ text: some StringProtocol) -> Double? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return min(Double(text) ?? largest, largest)
    }
}

extension Duration {
    /// As a number of seconds, from zero to ``DeltaSeconds/largest``.
    var deltaSeconds: Double { min(max(self / .seconds(1), 0), DeltaSeconds.largest) }
}
