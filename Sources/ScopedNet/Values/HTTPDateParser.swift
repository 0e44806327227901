/// Reads the three forms of an HTTP-date. Any byte that the grammar does not ask for makes it fail.
struct HTTPDateParser {
    private static let longWeekdayNames = [
        "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
    ]

    private var rest: Substring.UTF8View

    private init(_ text: String) {
        rest = text[...].utf8
    }

    static func parse(_ text: String, now: HTTPDate) -> Int64? {
        // The longest legal date has 33 bytes. A field value can be of any length.
        guard text.utf8.count <= 40 else { return nil }
        let plain = text.utf8.withContiguousStorageIfAvailable { imfFixdate(UnsafeRawBufferPointer($0)) }
        if let plain, let seconds = plain { return seconds }
        var imf = HTTPDateParser(text)
        if let seconds = imf.imfFixdate() { return seconds }
        var asctime = HTTPDateParser(text)
        if let seconds = asctime.asctime() { return seconds }
        var rfc850 = HTTPDateParser(text)
        return rfc850.rfc850(now: now)
    }

    /// The form that a sender must use, which is 29 bytes long with each of them in its place: read without a string.
    ///
    /// - Returns: nil for all else.
    static func imfFixdate(_ bytes: UnsafeRawBufferPointer) -> Int64? {
        guard bytes.count == 29, bytes[3] == UInt8(ascii: ","), bytes[19] == UInt8(ascii: ":"), bytes[22] == UInt8(ascii: ":"),
            [4, 7, 11, 16, 25].allSatisfy({ bytes[$0] == 0x20 }), bytes[26] == UInt8(ascii: "G"), bytes[27] == UInt8(ascii: "M"),
            bytes[28] == UInt8(ascii: "T"), index(of: word(bytes, 0), in: weekdays) != nil,
            let month = index(of: word(bytes, 8), in: months),
            let day = number(bytes, 5, 2), let year = number(bytes, 12, 4), let hour = number(bytes, 17, 2),
            let minute = number(bytes, 20, 2),
            let second = number(bytes, 23, 2), hour <= 23, minute <= 59, second <= 60
        else { return nil }
        return seconds(Int64(year), month + 1, day, hour * 3600 + minute * 60 + second)
    }

    private static let weekdays = HTTPDate.weekdayNames.map(word)
    private static let months = HTTPDate.monthNames.map(word)

    private static func index(of word: UInt32, in words: [UInt32]) -> Int? { words.firstIndex(of: word) }

    /// Three letters as a number.
    private static func word(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> UInt32 {
        UInt32(bytes[start]) << 16 | UInt32(bytes[start + 1]) << 8 | UInt32(bytes[start + 2])
    }

    private static func word(_ name: String) -> UInt32 { name.utf8.reduce(0) { $0 << 8 | UInt32($1) } }

    private static func number(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ count: Int) -> Int? {
        var number = 0
        for index in start..<(start + count) {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[index]) else { return nil }
            number = number * 10 + Int(bytes[index] - UInt8(ascii: "0"))
        }
        return number
    }

    private mutating func imfFixdate() -> Int64? {
        guard name(of: HTTPDate.weekdayNames) != nil, skip(", "),
            let day = number(2), skip(" "), let month = name(of: HTTPDate.monthNames), skip(" "),
            let year = number(4), skip(" "), let time = time(), skip(" GMT"), rest.isEmpty
        else { return nil }
        return Self.seconds(Int64(year), month + 1, day, time)
    }

    private mutating func rfc850(now: HTTPDate) -> Int64? {
        guard name(of: Self.longWeekdayNames) != nil, skip(", "),
            let day = number(2), skip("-"), let month = name(of: HTTPDate.monthNames), skip("-"),
            let shortYear = number(2), skip(" "), let time = time(), skip(" GMT"), rest.isEmpty
        else { return nil }
        let today = CivilDay(dayNumber: CivilDay.floor(now.secondsSince1970, 86_400))
        let limit = CivilDay(
            year: today.year + 50, month: today.month,
            day: min(today.day, CivilDay.daysInMonth(today.month, year: today.year + 50)))
        let timeOfDay = now.secondsSince1970 - CivilDay.floor(now.secondsSince1970, 86_400) * 86_400
        let lastSecond = limit.dayNumber * 86_400 + timeOfDay
        // The latest year with these two digits that is not more than 50 years ahead. A century earlier is the next candidate;
        // a third one can be needed only when 29 February does not exist in the nearer ones.
        let newest = CivilDay.floor(limit.year - Int64(shortYear), 100) * 100 + Int64(shortYear)
        for year in [newest, newest - 100] {
            if let seconds = Self.seconds(year, month + 1, day, time), seconds <= lastSecond { return seconds }
        }
        return nil
    }

    private mutating func asctime() -> Int64? {
        guard name(of: HTTPDate.weekdayNames) != nil, skip(" "),
            let month = name(of: HTTPDate.monthNames), skip(" "),
            let day = skip(" ") ? number(1) : number(2), skip(" "),
            let time = time(), skip(" "), let year = number(4), rest.isEmpty
        else { return nil }
        return Self.seconds(Int64(year), month + 1, day, time)
    }

    /// Seconds of the day. The grammar allows a leap second, 60; it counts like the first second of the next minute.
    private mutating func time() -> Int? {
        guard let hour = number(2), skip(":"), let minute = number(2), skip(":"), let second = number(2),
            hour <= 23, minute <= 59, second <= 60
        else { return nil }
        return hour * 3600 + minute * 60 + second
    }

    private static func seconds(_ year: Int64, _ month: Int, _ day: Int, _ time: Int) -> Int64? {
        guard day >= 1, day <= CivilDay.daysInMonth(month, year: year) else { return nil }
        return CivilDay(year: year, month: month, day: day).dayNumber * 86_400 + Int64(time)
    }

    private mutating func skip(_ text: String) -> Bool {
        guard rest.starts(with: text.utf8) else { return false }
        rest = rest.dropFirst(text.utf8.count)
        return true
    }

    private mutating func number(_ digits: Int) -> Int? {
        guard rest.count >= digits else { return nil }
        var value = 0
        for byte in rest.prefix(digits) {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            value = value * 10 + Int(byte - UInt8(ascii: "0"))
        }
        rest = rest.dropFirst(digits)
        return value
    }

    private mutating func name(of names: [String]) -> Int? {
        guard let index = names.firstIndex(where: { rest.starts(with: $0.utf8) }) else { return nil }
        rest = rest.dropFirst(names[index].utf8.count)
        return index
    }
}
