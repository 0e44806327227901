/// A day of the proleptic Gregorian calendar, and its number counted from 1970-01-01.
struct CivilDay: Equatable {
    var year: Int64
    /// 1…12
    var month: Int
    /// 1…31
    var day: Int

    init(year: Int64, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    /// Howard Hinnant's `civil_from_days`: years begin in March, so that the leap day is the last one; an era is 400 years.
    init(dayNumber: Int64) {
        let shifted = dayNumber + 719_468
        let era = Self.floor(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        self.day = Int(dayOfYear - (153 * marchMonth + 2) / 5) + 1
        self.month = Int(marchMonth < 10 ? marchMonth + 3 : marchMonth - 9)
        self.year = yearOfEra + era * 400 + (self.month <= 2 ? 1 : 0)
    }

    /// Days since 1970-01-01 (`days_from_civil`).
    var dayNumber: Int64 {
        let marchYear = month <= 2 ? year - 1 : year
        let era = Self.floor(marchYear, 400)
        let yearOfEra = marchYear - era * 400
        let marchMonth = Int64(month > 2 ? month - 3 : month + 9)
        let dayOfYear = (153 * marchMonth + 2) / 5 + Int64(day) - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    static func daysInMonth(_ month: Int, year: Int64) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// The quotient rounded down, also for numbers below zero.
    static func floor(_ number: Int64, _ divisor: Int64) -> Int64 {
        number >= 0 ? number / divisor : (number - divisor + 1) / divisor
    }
}
