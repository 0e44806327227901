import Glibc
import HTTPTypes

/// The field lines of a head, each `name:value` and a line feed, in memory that somebody else keeps. Names are asked for in lower case;
/// those on the wire may have any.
struct FieldLines {
    let bytes: UnsafeRawBufferPointer

    func withFirstValue<Result>(of name: String, _ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        var result: Result?
        forEachValue(of: name) { value in
            result = body(value)
            return false
        }
        return result
    }

    func values(of name: String) -> [String] {
        var values: [String] = []
        forEachValue(of: name) { value in
            values.append(ResponseHeadParser.text(value))
            return true
        }
        return values
    }

    /// One list, joined with commas (RFC 9110 section 5.3), or nil when there is no such field.
    func value(of name: String) -> String? {
        let values = values(of: name)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    /// Strict: digits only, and if it is there several times (as lines, or as a list), all must agree (RFC 9112 section 6.3).
    func contentLength() throws(ResponseHeadError) -> Int64? {
        var length: Int64?
        var failure: ResponseHeadError?
        forEachValue(of: "content-length") { value in
            for element in value.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
                guard let number = Self.decimal(element) else {
                    failure = .malformedContentLength
                    return false
                }
                if let length, length != number {
                    failure = .conflictingContentLength
                    return false
                }
                length = number
            }
            return true
        }
        if let failure { throw failure }
        return length
    }

    /// All fields, in order.
    func fields() -> HTTPFields {
        var fields = HTTPFields()
        for line in bytes.split(separator: 0x0a) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
                let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
            else { continue }
            fields.append(HTTPField(name: name, value: line[(colon + 1)...]))
        }
        return fields
    }

    /// Calls `body` with each name and value, in order, until it returns false. A line without a colon is left out.
    func forEachLine(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool) {
        guard let base = bytes.baseAddress else { return }
        var start = 0
        while start < bytes.count {
            let end = memchr(base + start, 0x0a, bytes.count - start).map { UnsafeRawPointer($0) - base } ?? bytes.count
            if let found = memchr(base + start, Int32(UInt8(ascii: ":")), end - start) {
                let colon = UnsafeRawPointer(found) - base
                let name = UnsafeRawBufferPointer(rebasing: bytes[start..<colon])
                guard body(name, UnsafeRawBufferPointer(rebasing: bytes[(colon + 1)..<end])) else { return }
            }
            start = end + 1
        }
    }

    /// Digits with spaces around them, that fit into 63 bits.
    static func decimal(_ bytes: UnsafeRawBufferPointer.SubSequence) -> Int64? {
        var (start, end) = (bytes.startIndex, bytes.endIndex)
        while start < end, ResponseHeadParser.isSpace(bytes[start]) { start += 1 }
        while end > start, ResponseHeadParser.isSpace(bytes[end - 1]) { end -= 1 }
        guard start < end else { return nil }
        var number: Int64 = 0
        for index in start..<end {
            let digit = bytes[index]
            guard ResponseHeadParser.isDigit(digit) else { return nil }
            let (product, tooLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, overflow) = product.addingReportingOverflow(Int64(digit - UInt8(ascii: "0")))
            if tooLarge || overflow { return nil }
            number = sum
        }
        return number
    }

    /// Calls `body` with each value of that name until it returns false.
    private func forEachValue(of name: String, _ body: (UnsafeRawBufferPointer) -> Bool) {
        guard let base = bytes.baseAddress else { return }
        let nameCount = name.utf8.count
        var start = 0
        while start < bytes.count {
            let end = memchr(base + start, 0x0a, bytes.count - start).map { UnsafeRawPointer($0) - base } ?? bytes.count
            if end - start > nameCount, bytes[start + nameCount] == UInt8(ascii: ":"),
                Self.matches(UnsafeRawBufferPointer(rebasing: bytes[start..<(start + nameCount)]), name)
            {
                let value = UnsafeRawBufferPointer(rebasing: bytes[(start + nameCount + 1)..<end])
                guard body(value) else { return }
            }
            start = end + 1
        }
    }

    /// The same for a name that the program knows: its bytes lie there to be compared.
    @inline(__always)
    static func matches(_ bytes: UnsafeRawBufferPointer, known lowercased: StaticString) -> Bool {
        for index in 0..<lowercased.utf8CodeUnitCount {
            let (byte, expected) = (bytes[index], lowercased.utf8Start[index])
            // The bit tells small letters from large ones; the hyphen has it.
            guard byte == expected || (byte | 0x20 == expected && ResponseHeadParser.isLetter(expected)) else { return false }
        }
        return true
    }

    /// As long as each other, and equal but for the case.
    @inline(__always)
    static func matches(_ bytes: UnsafeRawBufferPointer, _ lowercased: String) -> Bool {
        var index = 0
        for expected in lowercased.utf8 {
            var byte = bytes[index]
            if byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") { byte |= 0x20 }
            guard byte == expected else { return false }
            index += 1
        }
        return true
    }
}
