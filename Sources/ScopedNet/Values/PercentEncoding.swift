/// Percent-encoding for queries and forms (RFC 3986 section 2.1). (pure)
///
/// What stays as it is: ASCII letters and digits, `-`, `.`, `_`, `~`, and `/` and `?`, which a query may hold (section 3.4). All else becomes
/// the `%` and two upper-case digits of each byte of its UTF-8: a space is `%20`, never `+`, and a `%` is `%25`.
public enum PercentEncoding {
    /// The text, fit to be a name or a value of a query or a form.
    public static func escaped(_ text: String) -> String { escaped(text.utf8) }

    /// Bytes of any kind, written the same way.
    public static func escaped(_ bytes: some Sequence<UInt8>) -> String {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.underestimatedCount)
        for byte in bytes { append(byte, to: &output) }
        return String(decoding: output, as: UTF8.self)
    }

    /// The text behind an encoded one; `+` stays `+`.
    ///
    /// - Returns: nil where a `%` is not followed by two hexadecimal digits, and where the bytes are no UTF-8.
    public static func unescaped(_ text: String) -> String? {
        var output: [UInt8] = []
        output.reserveCapacity(text.utf8.count)
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                output.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else { return nil }
            output.append(high << 4 | low)
        }
        return String(validating: output, as: UTF8.self)
    }

    private static func append(_ byte: UInt8, to output: inout [UInt8]) {
        guard !isKept(byte) else { return output.append(byte) }
        output.append(UInt8(ascii: "%"))
        output.append(hexadecimal(byte >> 4))
        output.append(hexadecimal(byte & 0x0F))
    }

    private static func isKept(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "/"), UInt8(ascii: "?"): true
        default: false
        }
    }

    private static func hexadecimal(_ digit: UInt8) -> UInt8 {
        digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "A") + digit - 10
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
