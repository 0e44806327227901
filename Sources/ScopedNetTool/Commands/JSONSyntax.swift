/// The grammar of JSON (RFC 8259), and nothing more (pure). What is sent as it was written need not become a value first: that would change
/// numbers that neither `Int64` nor `Double` holds.
struct JSONSyntax {
    private struct Mistake: Error { let words: String }

    private var rest: ArraySlice<UInt8>
    /// The bracket that ends each level that is open.
    private var open: [UInt8] = []

    private init(_ bytes: [UInt8]) { rest = bytes[...] }

    /// Nil for one JSON text; else what is wrong, in JSON's own words. That strings are UTF-8 is not looked at.
    static func mistake(in bytes: some Sequence<UInt8>) -> String? {
        var syntax = JSONSyntax(Array(bytes))
        do throws(Mistake) { try syntax.text() } catch { return error.words }
        return nil
    }

    private mutating func text() throws(Mistake) {
        repeat { try value() } while try isFollowed()
        skipBlanks()
        if !rest.isEmpty { throw Mistake(words: "something stands behind its end") }
    }

    /// To the end of the first value that holds no other. Not recursive: the depth is whatever somebody writes.
    private mutating func value() throws(Mistake) {
        while true {
            skipBlanks()
            if takes(UInt8(ascii: "{")) {
                skipBlanks()
                if takes(UInt8(ascii: "}")) { return }
                open.append(UInt8(ascii: "}"))
                try name()
            } else if takes(UInt8(ascii: "[")) {
                skipBlanks()
                if takes(UInt8(ascii: "]")) { return }
                open.append(UInt8(ascii: "]"))
            } else {
                return try scalar()
            }
        }
    }

    /// Behind a value: ends what ends here.
    ///
    /// - Returns: true where another value has to come.
    private mutating func isFollowed() throws(Mistake) -> Bool {
        while let end = open.last {
            let isObject = end == UInt8(ascii: "}")
            skipBlanks()
            if takes(UInt8(ascii: ",")) {
                if isObject { try name() }
                return true
            }
            guard takes(end) else {
                throw Mistake(words: isObject ? "an object lacks its end, or a comma" : "an array lacks its end, or a comma")
            }
            open.removeLast()
        }
        return false
    }

    private mutating func name() throws(Mistake) {
        skipBlanks()
        guard rest.first == UInt8(ascii: "\"") else { throw Mistake(words: "a member of an object has no name in double quotes") }
        try string()
        skipBlanks()
        guard takes(UInt8(ascii: ":")) else { throw Mistake(words: "a member of an object has no colon behind its name") }
    }

    private mutating func scalar() throws(Mistake) {
        switch rest.first ?? 0 {
        case UInt8(ascii: "\""): try string()
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number()
        default:
            for word in ["true", "false", "null"] where rest.starts(with: word.utf8) {
                rest = rest.dropFirst(word.utf8.count)
                return
            }
            throw Mistake(words: rest.isEmpty ? "a value is missing" : "there is something that is no value")
        }
    }

    private mutating func string() throws(Mistake) {
        rest = rest.dropFirst()
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return
            case UInt8(ascii: "\\"): try escape()
            case ..<0x20: throw Mistake(words: "a string holds a control character as it is")
            default: break
            }
        }
        throw Mistake(words: "a string has no end")
    }

    private mutating func escape() throws(Mistake) {
        let letter = rest.popFirst() ?? 0
        if "\"\\/bfnrt".utf8.contains(letter) { return }
        let digits = rest.prefix(4)
        guard letter == UInt8(ascii: "u"), digits.count == 4, digits.allSatisfy(Self.isHexDigit) else {
            throw Mistake(words: "a string has a backslash that JSON does not know")
        }
        rest = rest.dropFirst(4)
    }

    private mutating func number() throws(Mistake) {
        _ = takes(UInt8(ascii: "-"))
        // A zero in front stands alone.
        var isWell = takes(UInt8(ascii: "0")) ? !Self.isDigit(rest.first ?? 0) : takesDigits()
        if takes(UInt8(ascii: ".")) { isWell = takesDigits() && isWell }
        if takes(UInt8(ascii: "e")) || takes(UInt8(ascii: "E")) {
            if !takes(UInt8(ascii: "+")) { _ = takes(UInt8(ascii: "-")) }
            isWell = takesDigits() && isWell
        }
        guard isWell else { throw Mistake(words: "a number is not written as JSON has it") }
    }

    // MARK: Bytes

    private mutating func takes(_ byte: UInt8) -> Bool {
        guard rest.first == byte else { return false }
        rest = rest.dropFirst()
        return true
    }

    private mutating func takesDigits() -> Bool {
        let count = rest.prefix(while: Self.isDigit).count
        rest = rest.dropFirst(count)
        return count > 0
    }

    private mutating func skipBlanks() { rest = rest.drop { [0x20, 0x09, 0x0a, 0x0d].contains($0) } }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
    }
}
