/// A reading of the wall clock in seconds since 1970-01-01 00:00:00 UTC, with fractions.
///
/// Ages are counted on the wall clock, as a stored response may be older than the process. Always a finite number: what is read back from a
/// damaged file cannot poison the arithmetic.
package struct WallTime: Sendable, Hashable, Comparable {
    package let secondsSince1970: Double

    /// - Parameter secondsSince1970: not a number counts as 1970, and what is beyond a hundred thousand years as that.
    package init(secondsSince1970: Double) {
        let bound = 3_155_760_000_000.0
        self.secondsSince1970 = secondsSince1970.isNaN ? 0 : min(max(secondsSince1970, -bound), bound)
    }

    package init(_ date: HTTPDate) {
        self.init(secondsSince1970: Double(date.secondsSince1970))
    }

    /// The date to write into a field: whole seconds, rounded down.
    package var date: HTTPDate { HTTPDate(secondsSince1970: Int64(secondsSince1970.rounded(.down))) }

    package static func < (left: WallTime, right: WallTime) -> Bool { left.secondsSince1970 < right.secondsSince1970 }
    package static func + (time: WallTime, seconds: Double) -> WallTime {
        WallTime(secondsSince1970: time.secondsSince1970 + seconds)
    }
    package static func - (left: WallTime, right: WallTime) -> Double { left.secondsSince1970 - right.secondsSince1970 }
}
