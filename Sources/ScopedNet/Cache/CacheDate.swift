/// Dates in fields that caches compute with.
///
/// RFC 9111 section 4.2 wants names matched in any case, and everything else as strictly as the grammar has it: another time zone, a year of
/// two digits where four belong or a missing comma make the date invalid, and an invalid date is in the past.
enum CacheDate {
    /// Of the value of a field, without blanks around it.
    static func parse(_ bytes: UnsafeRawBufferPointer, now: WallTime) -> WallTime? {
        if let seconds = HTTPDateParser.imfFixdate(bytes) { return WallTime(HTTPDate(secondsSince1970: seconds)) }
        return parse(FieldText.text(bytes), now: now)
    }

    static func parse(_ text: String, now: WallTime) -> WallTime? {
        let trimmed = String(FieldText.trimmed(text[...]))
        // Nearly all are spelled right.
        let date = HTTPDate(trimmed, now: now.date) ?? HTTPDate(trimmed.withDateNamesCapitalised, now: now.date)
        return date.map(WallTime.init)
    }
}

extension String {
    /// Runs of ASCII letters in the case that the grammar has: `GMT`, and names with one capital.
    fileprivate var withDateNamesCapitalised: String {
        guard utf8.count <= 40 else { return self }
        var bytes = Array(utf8)
        var index = 0
        while index < bytes.count {
            let start = index
            while index < bytes.count, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(bytes[index] | 0x20) { index += 1 }
            let isZone = bytes[start..<index].map { $0 & 0xDF } == Array("GMT".utf8)
            for place in start..<index { bytes[place] = place == start || isZone ? bytes[place] & 0xDF : bytes[place] | 0x20 }
            index += 1
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
