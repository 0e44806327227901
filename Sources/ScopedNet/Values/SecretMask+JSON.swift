extension SecretMask {
    /// A text of this media type without what looks like a secret: the members of JSON, the items of a form. Other text is left as it is.
    package func maskedBody(_ text: String, mimeType: String) -> String {
        if mimeType == "application/x-www-form-urlencoded" { return maskedForm(text[...]) }
        return mimeType.hasSuffix("/json") || mimeType.hasSuffix("+json") ? maskedJSON(text) : text
    }

    /// A JSON text without the values of suspicious members. Broken JSON is masked as far as it makes sense.
    ///
    /// Works on the bytes: a string followed by a colon is a name; if it is suspicious, the string, number or word behind it is
    /// replaced. Objects and arrays are looked into instead.
    func maskedJSON(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var masked: [UInt8] = []
        var index = 0
        while index < bytes.count {
            guard bytes[index] == UInt8(ascii: "\"") else {
                masked.append(bytes[index])
                index += 1
                continue
            }
            let end = Self.endOfString(bytes, from: index)
            masked += bytes[index..<end]
            let name = String(decoding: bytes[index..<end].dropFirst().dropLast(), as: UTF8.self)
            index = end
            guard let valueStart = Self.startOfValue(bytes, behindName: end), isSecretItem(name) else { continue }
            masked += bytes[end..<valueStart]
            let valueEnd = Self.endOfScalar(bytes, from: valueStart)
            if valueEnd > valueStart { masked += Array("\"\(Self.placeholder)\"".utf8) }
            index = valueEnd
        }
        return String(decoding: masked, as: UTF8.self)
    }

    /// Behind the closing quote of the string that opens at `start`.
    private static func endOfString(_ bytes: [UInt8], from start: Int) -> Int {
        var index = start + 1
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "\"") { return index + 1 }
            index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return bytes.count
    }

    /// The first byte of a value, if a colon follows.
    private static func startOfValue(_ bytes: [UInt8], behindName end: Int) -> Int? {
        func skipSpace(_ start: Int) -> Int {
            bytes[start...].firstIndex { !($0 == 0x20 || (0x09...0x0d).contains($0)) } ?? bytes.count
        }
        let colon = skipSpace(end)
        guard colon < bytes.count, bytes[colon] == UInt8(ascii: ":") else { return nil }
        return skipSpace(colon + 1)
    }

    /// Behind the string, number or word at `start`; `start` itself when an object or array begins there.
    private static func endOfScalar(_ bytes: [UInt8], from start: Int) -> Int {
        guard start < bytes.count else { return start }
        switch bytes[start] {
        case UInt8(ascii: "\""): return endOfString(bytes, from: start)
        case UInt8(ascii: "{"), UInt8(ascii: "["): return start
        default:
            return bytes[start...].firstIndex { byte in
                byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") || byte <= 0x20
            } ?? bytes.count
        }
    }
}
