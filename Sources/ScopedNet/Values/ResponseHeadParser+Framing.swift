/// Whether everybody who reads this head sees the end of the response in the same place.
///
/// libcurl is lenient where proxies and browsers differ from each other (RFC 9112 sections 6.1 and 6.3, and 11.1): what it would frame in one
/// way and somebody on the way in another is refused here.
extension ResponseHeadParser {
    package mutating func checkFraming() throws(ResponseHeadError) {
        // libcurl reads a length that is no number, or too large for one, as none at all.
        let length = try contentLength()
        guard hasTransferEncoding else { return }
        guard length == nil else { throw .ambiguousFraming("both Transfer-Encoding and Content-Length") }
        guard version == .http1_1 else { throw .ambiguousFraming("Transfer-Encoding in a version that has none") }
        let codings = values(of: "transfer-encoding")
        // None was asked for, so chunked is the only one there can be (RFC 9112 section 7.4).
        guard codings.count == 1, codings[0].lowercased() == "chunked" else {
            throw .ambiguousFraming("a Transfer-Encoding that is not just chunked")
        }
    }

    /// The body ends with the connection (RFC 9112 section 6.3, item 8).
    package var isFramedByClose: Bool {
        guard case .none = declaredLength, !hasTransferEncoding, status != 204, status != 304 else { return false }
        return version == .http1_0 || version == .http1_1
    }

    static func beginsWithFramingName(_ line: UnsafeRawBufferPointer) -> Bool {
        begins(line, with: "content-length") || begins(line, with: "transfer-encoding")
    }

    /// - Returns: whether that name stands there and no longer one.
    private static func begins(_ line: UnsafeRawBufferPointer, with lowercased: StaticString) -> Bool {
        let count = lowercased.utf8CodeUnitCount
        guard line.count > count, !isTokenByte(line[count]) else { return false }
        return (0..<count).allSatisfy { index in
            let byte = line[index]
            return (byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte) == lowercased.utf8Start[index]
        }
    }
}
