/// A run of bytes in a representation, its end excluded. Never empty.
package struct ByteRange: Sendable, Hashable {
    package let start: Int64
    package let end: Int64

    /// Nil unless `0 <= start < end`.
    package init?(_ start: Int64, _ end: Int64) {
        guard start >= 0, start < end else { return nil }
        self.start = start
        self.end = end
    }

    package var count: Int64 { end - start }

    package func contains(_ other: ByteRange) -> Bool { start <= other.start && other.end <= end }

    /// Both as one, when there is no gap between them (RFC 9111 section 3.4).
    package func union(_ other: ByteRange) -> ByteRange? {
        guard start <= other.end, other.start <= end else { return nil }
        return ByteRange(min(start, other.start), max(end, other.end))
    }
}
