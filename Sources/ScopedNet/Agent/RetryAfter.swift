/// The field `Retry-After` (RFC 9110 section 10.2.3): a number of seconds, or a date.
package enum RetryAfter {
    /// The longest wait that is told apart from longer ones: 2^31 seconds, 68 years.
    private static let longestSeconds: Int64 = 1 << 31

    /// How long to wait, or nil when the value is neither form.
    ///
    /// - Parameters:
    ///   - value: the text of the field; spaces and tabs at its ends do not matter.
    ///   - now: the time of this machine.
    ///   - serverDate: the response's own `Date`. A date in `Retry-After` is the server's, so the wait is measured on the server's clock
    ///     where it can be; a wrong clock here then does no harm.
    /// - Returns: zero for a date that has passed; nil for a value of neither form.
    package static func delay(_ value: String, now: HTTPDate, serverDate: HTTPDate? = nil) -> Duration? {
        let value = value.trimmingOptionalWhitespace
        if !value.isEmpty, value.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            return .seconds(min(Int64(value) ?? longestSeconds, longestSeconds))
        }
        guard let date = HTTPDate(String(value), now: now) else { return nil }
        let (seconds, overflow) = date.secondsSince1970.subtractingReportingOverflow((serverDate ?? now).secondsSince1970)
        return .seconds(overflow ? longestSeconds : min(max(seconds, 0), longestSeconds))
    }
}

extension String {
    /// The string without spaces and tabs at its ends (OWS, RFC 9110 section 5.6.3).
    fileprivate var trimmingOptionalWhitespace: Substring {
        var trimmed = self[...]
        while let first = trimmed.utf8.first, first == 0x20 || first == 0x09 { trimmed = Substring(trimmed.utf8.dropFirst()) }
        while let last = trimmed.utf8.last, last == 0x20 || last == 0x09 { trimmed = Substring(trimmed.utf8.dropLast()) }
        return trimmed
    }
}
