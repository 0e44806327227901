import CleanSlate
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct HTTPDateTests {
    /// 2024-06-15 12:00:00
    private static let now = HTTPDate(secondsSince1970: 1_718_452_800)

    private func parse(_ text: String, now: HTTPDate = HTTPDateTests.now) -> Int64? {
        HTTPDate(text, now: now)?.secondsSince1970
    }

    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777),
            ("Sun Nov 16 08:49:37 1994", 784_975_777),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
            ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199),
            ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
            ("Sat, 01 Jan 0000 00:00:00 GMT", -62_167_219_200),
            ("Mon, 06 Nov 1994 08:49:37 GMT", 784_111_777),  // It was a Sunday.
        ] as [(String, Int64)])
    func legalDates(_ text: String, _ seconds: Int64) {
        #expect(parse(text) == seconds)
    }

    @Test(arguments: [
        "", " ", "0", "-1", "now", "Sun", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 gmt",
        "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 +0000", "sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun,06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994  08:49:37 GMT", " Sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT ", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT",
        "Wed, 29 Feb 2023 08:49:37 GMT", "Thu, 29 Feb 1900 08:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT",
        "Sun, +6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 19940 08:49:37 GMT", "Sun, ٠٦ Nov 1994 08:49:37 GMT",
        "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT", "Sunday, 06 Nov 94 08:49:37 GMT",
        "Sun Nov 6 08:49:37 1994", "Sun Nov 06  08:49:37 1994", "Sun Nov  6 08:49:37 94", "Sun Nov  6 08:49:37 1994 GMT",
        "Sun Nov  0 08:49:37 1994", "Sunday Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:37 GMT\u{0}",
    ])
    func illegalDates(_ text: String) {
        #expect(parse(text) == nil)
    }

    /// Also in the first seconds of a day: 2026-11-21 00:00:10.
    @Test func fiftyYearsAreCountedToTheSecond() {
        let now = HTTPDate(secondsSince1970: 1_795_219_210)
        #expect(HTTPDate("Saturday, 21-Nov-76 00:00:10 GMT", now: now)?.description == "Sat, 21 Nov 2076 00:00:10 GMT")
        #expect(HTTPDate("Saturday, 21-Nov-76 00:00:11 GMT", now: now)?.description == "Sun, 21 Nov 1976 00:00:11 GMT")
    }

    @Test func ofTwoDatesOneIsEarlierUnlessTheyAreTheSame() {
        let (first, second) = (HTTPDate(secondsSince1970: 1), HTTPDate(secondsSince1970: 2))
        #expect(first < second && !(second < first) && !(first < first))
    }

    /// RFC 9110 section 5.6.7: what appears to be more than 50 years in the future is in the past.
    @Test(arguments: [
        ("Saturday, 15-Jun-74 12:00:00 GMT", "Fri, 15 Jun 2074 12:00:00 GMT"),
        ("Saturday, 15-Jun-74 12:00:01 GMT", "Sat, 15 Jun 1974 12:00:01 GMT"),
        ("Saturday, 16-Jun-74 00:00:00 GMT", "Sun, 16 Jun 1974 00:00:00 GMT"),
        ("Saturday, 01-Jan-75 00:00:00 GMT", "Wed, 01 Jan 1975 00:00:00 GMT"),
        ("Saturday, 01-Jan-24 00:00:00 GMT", "Mon, 01 Jan 2024 00:00:00 GMT"),
        ("Saturday, 31-Dec-99 23:59:59 GMT", "Fri, 31 Dec 1999 23:59:59 GMT"),
        ("Saturday, 29-Feb-00 00:00:00 GMT", "Tue, 29 Feb 2000 00:00:00 GMT"),
    ])
    func twoDigitsOfAYear(_ short: String, _ long: String) {
        #expect(HTTPDate(short, now: Self.now)?.description == long)
    }

    @Test func theCenturyFollowsTheClock() {
        let in1994 = HTTPDate(secondsSince1970: 784_111_777)
        #expect(HTTPDate("Sunday, 06-Nov-44 08:49:37 GMT", now: in1994)?.description == "Sun, 06 Nov 2044 08:49:37 GMT")
        #expect(HTTPDate("Sunday, 06-Nov-44 08:49:38 GMT", now: in1994)?.description == "Mon, 06 Nov 1944 08:49:38 GMT")
        // Today is 29 February, and there is none in 50 years.
        let leapDay = HTTPDate(secondsSince1970: 1_709_208_000)
        #expect(HTTPDate("Sunday, 01-Mar-74 00:00:00 GMT", now: leapDay)?.description == "Fri, 01 Mar 1974 00:00:00 GMT")
    }

    @Test func everyFormattedDateIsReadBack() {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<5_000 {
            let date = HTTPDate(secondsSince1970: Int64.random(in: -62_167_219_200...253_402_300_799, using: &generator))
            let text = date.description
            #expect(text.utf8.count == 29)
            #expect(HTTPDate(text, now: Self.now) == date, "\(text)")
        }
    }

    @Test func theWeekdayIsRight() {
        #expect(HTTPDate(secondsSince1970: 784_111_777).description == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate(secondsSince1970: -1).description == "Wed, 31 Dec 1969 23:59:59 GMT")
        #expect(HTTPDate(secondsSince1970: .max).description == "Fri, 31 Dec 9999 23:59:59 GMT")
        #expect(HTTPDate(secondsSince1970: .min).description == "Sat, 01 Jan 0000 00:00:00 GMT")
    }

    @Test func daysFollowEachOther() {
        var previous = CivilDay(dayNumber: -150_000)
        for number in Int64(-149_999)...150_000 {
            let day = CivilDay(dayNumber: number)
            if day.dayNumber != number { Issue.record("\(number)") }
            let follows =
                day.day == previous.day + 1 && day.month == previous.month
                || day.day == 1 && previous.day == CivilDay.daysInMonth(previous.month, year: previous.year)
            if !follows { Issue.record("\(previous) \(day)") }
            previous = day
        }
    }
}
