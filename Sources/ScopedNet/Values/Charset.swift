internal import Glibc

/// Text from bytes, by the name of their character encoding. (pure)
///
/// Names are those of IANA's registry; what they stand for follows the Encoding Standard (encoding.spec.whatwg.org) where that is wiser:
/// `ISO-8859-1` and `US-ASCII` are windows-1252, as in every browser, because that is what is sent under those names. A byte order mark
/// outranks the name.
enum Charset {
    /// Decodes text. Never fails: what is not valid becomes U+FFFD, and an unknown name is taken for UTF-8.
    ///
    /// - Parameters:
    ///   - bytes: the text, with or without a byte order mark.
    ///   - name: as `charset` gives it; nil when nothing is said.
    /// - Returns: the text without its mark.
    static func text(_ bytes: [UInt8], named name: String?) -> String {
        if let (encoding, length) = mark(bytes) { return text(bytes[length...], encoding) }
        return text(bytes[...], name.map(encoding) ?? "UTF-8")
    }

    /// The byte order mark, and how long it is.
    private static func mark(_ bytes: [UInt8]) -> (String, Int)? {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return ("UTF-8", 3) }
        if bytes.starts(with: [0xFF, 0xFE, 0, 0]) { return ("UTF-32LE", 4) }
        if bytes.starts(with: [0, 0, 0xFE, 0xFF]) { return ("UTF-32BE", 4) }
        if bytes.starts(with: [0xFF, 0xFE]) { return ("UTF-16LE", 2) }
        if bytes.starts(with: [0xFE, 0xFF]) { return ("UTF-16BE", 2) }
        return nil
    }

    /// iconv's name.
    private static func encoding(_ name: String) -> String {
        let plain = name.uppercased()
        switch plain {
        case "UTF-8", "UTF8": return "UTF-8"
        case "ISO-8859-1", "ISO8859-1", "ISO_8859-1", "LATIN1", "L1", "US-ASCII", "ASCII", "WINDOWS-1252", "CP1252": return "CP1252"
        // Without a mark it is little endian (Encoding Standard section 4.2); RFC 2781 would have it big, and nobody sends that.
        case "UTF-16", "UTF16": return "UTF-16LE"
        case "UTF-32", "UTF32": return "UTF-32LE"
        default: break
        }
        // iconv reads options behind a slash.
        let isName = plain.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            default: "-_.:+()".utf8.contains(byte)
            }
        }
        return isName && !plain.isEmpty ? plain : "UTF-8"
    }

    private static func text(_ bytes: ArraySlice<UInt8>, _ encoding: String) -> String {
        if encoding == "UTF-8" { return String(decoding: bytes, as: UTF8.self) }
        guard let converter = iconv_open("UTF-8", encoding), converter != iconv_t(bitPattern: -1) else {
            return String(decoding: bytes, as: UTF8.self)
        }
        defer { iconv_close(converter) }
        return converted(Array(bytes), by: converter, unit: encoding.hasPrefix("UTF-16") ? 2 : encoding.hasPrefix("UTF-32") ? 4 : 1)
    }

    /// Converts the bytes; where the input is wrong, `unit` bytes are left out.
    private static func converted(_ bytes: [UInt8], by converter: iconv_t, unit: Int) -> String {
        var input = bytes
        var piece = [UInt8](repeating: 0, count: 16 << 10)
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        input.withUnsafeMutableBytes { input in
            piece.withUnsafeMutableBytes { piece in
                var source = input.baseAddress?.assumingMemoryBound(to: CChar.self)
                var sourceLeft = input.count
                while sourceLeft > 0 {
                    var target = piece.baseAddress?.assumingMemoryBound(to: CChar.self)
                    var targetLeft = piece.count
                    let status = iconv(converter, &source, &sourceLeft, &target, &targetLeft)
                    let reason = errno
                    output.append(contentsOf: piece[..<(piece.count - targetLeft)])
                    if status != -1 || reason == E2BIG { continue }
                    output.append(contentsOf: held(converter))
                    output.append(contentsOf: "\u{FFFD}".utf8)
                    // Incomplete at the end: nothing can follow.
                    guard reason == EILSEQ, sourceLeft > unit else { return }
                    source = source?.advanced(by: unit)
                    sourceLeft -= unit
                }
            }
        }
        output.append(contentsOf: held(converter))
        return String(decoding: output, as: UTF8.self)
    }

    /// Some encodings write marks behind their letters: the converter holds a letter back until it knows.
    private static func held(_ converter: iconv_t) -> [UInt8] {
        var piece = [UInt8](repeating: 0, count: 64)
        let count = piece.withUnsafeMutableBytes { piece in
            var target = piece.baseAddress?.assumingMemoryBound(to: CChar.self)
            var left = piece.count
            iconv(converter, nil, nil, &target, &left)
            return piece.count - left
        }
        return Array(piece[..<count])
    }
}
