import Glibc
package import HTTPTypes

/// Questions about the fields of the latest head. Names are given in lower case; those on the wire may have any.
extension ResponseHeadParser {
    /// Calls `body` with the value of the first field of that name, without allocating anything.
    /// - Returns: nil when there is no such field.
    package func withFirstValue<Result>(of name: String, _ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        withFieldBytes { bytes in
            var result: Result?
            Self.forEachValue(of: name, in: bytes) { value in
                result = body(value)
                return false
            }
            return result
        }
    }

    /// Whether there is a field of that name.
    package func contains(_ name: String) -> Bool {
        withFirstValue(of: name) { _ in true } ?? false
    }

    /// The values of all fields of that name, in order.
    package func values(of name: String) -> [String] {
        withFieldBytes { bytes in
            var values: [String] = []
            Self.forEachValue(of: name, in: bytes) { value in
                values.append(Self.text(value))
                return true
            }
            return values
        }
    }

    /// The values of all fields of that name as one list, joined with commas (RFC 9110 section 5.3), or nil when there is none.
    /// Not for `Set-Cookie`, whose values contain commas of their own.
    package func value(of name: String) -> String? {
        let values = values(of: name)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    /// The number of bytes `Content-Length` announces, or nil when it is absent.
    ///
    /// Strict: digits only, and if it is there several times (as lines, or as a list), all must agree (RFC 9112 section 6.3).
    package func contentLength() throws(ResponseHeadError) -> Int64? {
        let result = withFieldBytes { bytes -> Swift.Result<Int64?, ResponseHeadError> in
            var length: Int64?
            var failure: ResponseHeadError?
            Self.forEachValue(of: "content-length", in: bytes) { value in
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
            if let failure { return .failure(failure) }
            return .success(length)
        }
        return try result.get()
    }

    /// All fields of the latest head, in order.
    package func fields() -> HTTPFields { Self.fields(fieldBytes) }

    /// All trailer fields, in order. Complete when the body is.
    package func trailerFields() -> HTTPFields { Self.fields(trailerBytes) }

    private static func fields(_ bytes: [UInt8]) -> HTTPFields {
        var fields = HTTPFields()
        for line in bytes.split(separator: 0x0a) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
                let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
            else { continue }
            fields.append(HTTPField(name: name, value: line[(colon + 1)...]))
        }
        return fields
    }

    /// Digits with spaces around them, that fit into 63 bits.
    private static func decimal(_ bytes: UnsafeRawBufferPointer.SubSequence) -> Int64? {
        var digits = bytes
        while let first = digits.first, isSpace(first) { digits = digits.dropFirst() }
        while let last = digits.last, isSpace(last) { digits = digits.dropLast() }
        guard !digits.isEmpty else { return nil }
        var number: Int64 = 0
        for digit in digits {
            guard isDigit(digit) else { return nil }
            let (product, tooLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, overflow) = product.addingReportingOverflow(Int64(digit - UInt8(ascii: "0")))
            if tooLarge || overflow { return nil }
            number = sum
        }
        return number
    }

    private func withFieldBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[fieldsStart...])) }
    }

    /// Calls `body` with each value of that name until it returns false.
    private static func forEachValue(
        of name: String, in bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Bool
    ) {
        guard let base = bytes.baseAddress else { return }
        let nameCount = name.utf8.count
        var start = 0
        while start < bytes.count {
            let end = memchr(base + start, 0x0a, bytes.count - start).map { UnsafeRawPointer($0) - base } ?? bytes.count
            if end - start > nameCount, bytes[start + nameCount] == UInt8(ascii: ":"),
                matches(bytes[start..<(start + nameCount)], name)
            {
                let value = UnsafeRawBufferPointer(rebasing: bytes[(start + nameCount + 1)..<end])
                guard body(value) else { return }
            }
            start = end + 1
        }
    }

    private static func matches(_ bytes: UnsafeRawBufferPointer.SubSequence, _ lowercased: String) -> Bool {
        var index = bytes.startIndex
        for expected in lowercased.utf8 {
            var byte = bytes[index]
            if byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") { byte |= 0x20 }
            guard byte == expected else { return false }
            index += 1
        }
        return true
    }
}
