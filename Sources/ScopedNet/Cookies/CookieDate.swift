/// The dates of `Expires`, read as browsers read them (RFC 6265bis section 5.1.1): parts in any order, whatever stands between. (pure)
package enum CookieDate {
    /// - Returns: seconds since 1970 in UTC; nil for what is no date.
    package static func secondsSince1970(_ text: String) -> Int64? {
        var parts = Parts()
        for token in text.utf8.split(whereSeparator: isDelimiter) { parts.take(Array(token)) }
        return parts.seconds
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    private struct Parts {
        var time: (hour: Int, minute: Int, second: Int)?
        var day: Int?
        var month: Int?
        var year: Int?

        /// The first token that fits is the part; others are noise, such as the day of the week.
        mutating func take(_ token: [UInt8]) {
            if time == nil, let found = Self.time(token) {
                time = found
            } else if day == nil, let found = Self.number(token, digits: 1...2) {
                day = found
            } else if month == nil, let found = Self.month(token) {
                month = found
            } else if year == nil, let found = Self.number(token, digits: 2...4) {
                year = found
            }
        }

        var seconds: Int64? {
            guard let time, let day, let month, let year else { return nil }
            let full = (70...99).contains(year) ? year + 1900 : year < 70 ? year + 2000 : year
            guard full >= 1601, (1...31).contains(day), time.hour < 24, time.minute < 60, time.second < 60 else { return nil }
            let civil = CivilDay(year: Int64(full), month: month, day: day)
            // 30 February is no day.
            guard CivilDay(dayNumber: civil.dayNumber) == civil else { return nil }
            return civil.dayNumber * 86_400 + Int64(time.hour * 3_600 + time.minute * 60 + time.second)
        }

        private static func month(_ token: [UInt8]) -> Int? {
            let names = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
            let start = String(decoding: token.prefix(3), as: UTF8.self).lowercased()
            return names.firstIndex(of: start).map { $0 + 1 }
        }

        /// That many digits at the start, and no digit behind them.
        private static func number(_ token: some Sequence<UInt8>, digits: ClosedRange<Int>) -> Int? {
            let found = token.prefix { isDigit($0) }
            guard digits.contains(found.count) else { return nil }
            return found.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        }

        private static func time(_ token: [UInt8]) -> (Int, Int, Int)? {
            let fields = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3, fields[0].allSatisfy(isDigit), fields[1].allSatisfy(isDigit),
                let hour = number(fields[0], digits: 1...2), let minute = number(fields[1], digits: 1...2),
                let second = number(fields[2], digits: 1...2)
            else { return nil }
            return (hour, minute, second)
        }

        private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    }
}
