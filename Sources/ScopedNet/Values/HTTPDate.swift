/// A date of HTTP (RFC 9110 section 5.6.7): whole seconds since 1970-01-01 00:00:00 UTC.
///
/// Reads the three forms a recipient must accept, exactly as the grammar spells them (the names are case-sensitive), and writes
/// the one a sender must use:
///
///     Sun, 06 Nov 1994 08:49:37 GMT    IMF-fixdate, also written
///     Sunday, 06-Nov-94 08:49:37 GMT   RFC 850
///     Sun Nov  6 08:49:37 1994         asctime()
///
/// The day of the week must be one, but need not be the right one: it adds nothing to the date, and a two-digit year makes it
/// ambiguous.
package struct HTTPDate: Sendable, Hashable, Comparable {
    /// Seconds since 1970-01-01 00:00:00 UTC, without leap seconds.
    package var secondsSince1970: Int64

    package init(secondsSince1970: Int64) {
        self.secondsSince1970 = secondsSince1970
    }

    /// Reads a date in any of the three forms, or returns nil.
    ///
    /// - Parameters:
    ///   - text: the value of a field, without spaces at its ends.
    ///   - now: the time of reading. It gives the century of a two-digit year: a date that appears to be more than 50 years in the future
    ///     is in the past.
    package init?(_ text: String, now: HTTPDate) {
        guard let seconds = HTTPDateParser.parse(text, now: now) else { return nil }
        self.init(secondsSince1970: seconds)
    }

    package static func < (left: HTTPDate, right: HTTPDate) -> Bool {
        left.secondsSince1970 < right.secondsSince1970
    }
}

extension HTTPDate: CustomStringConvertible {
    static let weekdayNames = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    static let monthNames = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// 0000-01-01 and 9999-12-31 23:59:59: what four digits of a year can say.
    private static let writable: ClosedRange<Int64> = -62_167_219_200...253_402_300_799

    /// The date as an IMF-fixdate. Dates outside of the years 0 to 9999 are written as the nearest one inside.
    package var description: String {
        let seconds = min(max(secondsSince1970, Self.writable.lowerBound), Self.writable.upperBound)
        let time = Int(seconds - CivilDay.floor(seconds, 86_400) * 86_400)
        let dayNumber = CivilDay.floor(seconds, 86_400)
        let day = CivilDay(dayNumber: dayNumber)
        // Day 0 was a Thursday.
        let weekday = Int(dayNumber + 4 - CivilDay.floor(dayNumber + 4, 7) * 7)
        let clock = [time / 3600, time / 60 % 60, time % 60].map { Self.padded($0, 2) }.joined(separator: ":")
        return "\(Self.weekdayNames[weekday]), \(Self.padded(day.day, 2)) \(Self.monthNames[day.month - 1])"
            + " \(Self.padded(Int(day.year), 4)) \(clock) GMT"
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
