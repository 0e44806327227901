import FoundationEssentials

/// The first place where a text is not JSON (RFC 8259), by line and column. It holds nothing of the text. (pure)
///
/// Foundation says of such a body that it is not valid JSON, and on Linux no more.
enum JSONDefect: Equatable {
    case endsEarly
    /// Counted from 1, columns in bytes.
    case unexpected(line: Int, column: Int)
    case tooDeep
    case notUTF8

    /// The levels of arrays and objects that Foundation reads.
    static let mostLevels = 512

    /// Returns nil for valid JSON, and for a body in another encoding than UTF-8.
    static func find(in body: Data) -> JSONDefect? {
        body.withUnsafeBytes { bytes in
            guard isUTF8(body) else { return nil }
            // A mark of the encoding is none of the text.
            let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
            let text = UnsafeRawBufferPointer(rebasing: bytes[start...])
            var scanner = Scanner(text)
            return scanner.scan() ?? (String(validating: text, as: UTF8.self) == nil ? .notUTF8 : nil)
        }
    }

    /// False for what begins as UTF-16 and UTF-32 do, which Foundation reads, too.
    static func isUTF8(_ body: Data) -> Bool {
        !body.prefix(4).contains(0) && !body.starts(with: [0xFE, 0xFF]) && !body.starts(with: [0xFF, 0xFE])
    }

    /// One line for a message.
    var text: String {
        switch self {
        case .endsEarly: "the body is not valid JSON: it ends too early"
        case .unexpected(let line, let column): "the body is not valid JSON at line \(line), column \(column)"
        case .tooDeep: "the body is nested more than \(Self.mostLevels) levels deep"
        case .notUTF8: "the body is not valid JSON: it is not UTF-8"
        }
    }
}

/// Reads a text from its first byte to the first that does not belong there.
private struct Scanner {
    private enum Level { case array, object }

    private let bytes: UnsafeRawBufferPointer
    private var place = 0
    private var levels: [Level] = []

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

    /// Values and what stands between them, without recursion: a text of somebody else's may be nested as deep as it likes.
    mutating func scan() -> JSONDefect? {
        while true {
            skipSpaces()
            if let opened = open() {
                place += 1
                levels.append(opened)
                guard levels.count <= JSONDefect.mostLevels else { return .tooDeep }
                skipSpaces()
                if next != closing(opened) {
                    if opened == .object, !name() { return defect }
                    continue
                }
            } else if !scalar() {
                return defect
            }
            // A value has ended, and perhaps what it is in.
            while true {
                if let level = levels.last, next == closing(level) {
                    place += 1
                    levels.removeLast()
                }
                skipSpaces()
                guard let level = levels.last else { return next == nil ? nil : defect }
                if next == closing(level) { continue }
                guard take(",") else { return defect }
                skipSpaces()
                if level == .object, !name() { return defect }
                break
            }
        }
    }

    private var defect: JSONDefect {
        guard place < bytes.count else { return .endsEarly }
        let before = bytes[..<place]
        let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return .unexpected(line: before.count { $0 == UInt8(ascii: "\n") } + 1, column: place - start + 1)
    }

    private func open() -> Level? {
        switch next {
        case UInt8(ascii: "["): .array
        case UInt8(ascii: "{"): .object
        default: nil
        }
    }

    private func closing(_ level: Level) -> UInt8 { level == .array ? UInt8(ascii: "]") : UInt8(ascii: "}") }

    private mutating func skipSpaces() {
        while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { place += 1 }
    }

    private mutating func take(_ text: StaticString) -> Bool {
        for offset in 0..<text.utf8CodeUnitCount {
            guard next == text.utf8Start[offset] else { return false }
            place += 1
        }
        return true
    }

    private mutating func name() -> Bool {
        guard string() else { return false }
        skipSpaces()
        return take(":")
    }

    private mutating func scalar() -> Bool {
        switch next {
        case UInt8(ascii: "\""): string()
        case UInt8(ascii: "t"): take("true")
        case UInt8(ascii: "f"): take("false")
        case UInt8(ascii: "n"): take("null")
        default: number()
        }
    }

    private mutating func string() -> Bool {
        guard take("\"") else { return false }
        while let byte = next, byte >= 0x20 {
            switch byte {
            case UInt8(ascii: "\""):
                place += 1
                return true
            case UInt8(ascii: "\\"):
                place += 1
                guard escape() else { return false }
            default: place += 1
            }
        }
        return false
    }

    private mutating func escape() -> Bool {
        guard let byte = next, "\"\\/bfnrtu".utf8.contains(byte) else { return false }
        place += 1
        guard byte == UInt8(ascii: "u") else { return true }
        guard let unit = hexadecimal(), !(0xDC00..<0xE000).contains(unit) else { return false }
        // Half a character is none, which Foundation insists on.
        guard (0xD800..<0xDC00).contains(unit) else { return true }
        guard take("\\u"), let second = hexadecimal() else { return false }
        return (0xDC00..<0xE000).contains(second)
    }

    private mutating func hexadecimal() -> Int? {
        var unit = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { return nil }
            unit = unit << 4 | digit
            place += 1
        }
        return unit
    }

    private mutating func number() -> Bool {
        if next == UInt8(ascii: "-") { place += 1 }
        let start = place
        guard digits() else { return false }
        if bytes[start] == UInt8(ascii: "0"), place > start + 1 {
            place = start + 1
            return false
        }
        if next == UInt8(ascii: ".") {
            place += 1
            guard digits() else { return false }
        }
        guard next == UInt8(ascii: "e") || next == UInt8(ascii: "E") else { return true }
        place += 1
        if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { place += 1 }
        return digits()
    }

    private mutating func digits() -> Bool {
        let start = place
        while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { place += 1 }
        return place > start
    }
}
