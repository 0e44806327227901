/// One word of a command line for a POSIX shell (`sh`).
///
/// Words of harmless bytes stay as they are. Others go into single quotes, in which a shell changes nothing. Bytes that a
/// terminal should not see (controls, marks that turn the direction of text, what is not UTF-8) are written as octal numbers
/// that `printf` turns back; the form `$'…'` is not portable.
struct ShellWord: Hashable, Sendable, CustomStringConvertible {
    /// The word as the shell reads it.
    let description: String

    /// - Parameter bytes: any bytes but NUL, which no argument of a program can contain; it is left out.
    init(_ bytes: some Collection<UInt8>) {
        let bytes = bytes.filter { $0 != 0 }
        if !bytes.isEmpty, bytes.allSatisfy(Self.isHarmless) {
            description = String(decoding: bytes, as: UTF8.self)
            return
        }
        var word = ""
        var plain = ""
        var escaped: [UInt8] = []
        func endEscaped() {
            guard !escaped.isEmpty else { return }
            // A command substitution loses line feeds at its end, but those are never escaped.
            word += "\"$(printf '\(Self.octal(escaped))')\""
            escaped = []
        }
        func endPlain() {
            guard !plain.isEmpty else { return }
            word += "'\(plain)'"
            plain = ""
        }
        for part in Self.parts(bytes) {
            switch part {
            case .plain(let scalar):
                endEscaped()
                // Scalar by scalar: together with an accent behind it a quote is another `Character`, yet still a quote.
                plain.unicodeScalars.append(contentsOf: scalar == "'" ? "'\\''".unicodeScalars : String(scalar).unicodeScalars)
            case .escaped(let bytes):
                endPlain()
                escaped += bytes
            }
        }
        endPlain()
        endEscaped()
        description = word.isEmpty ? "''" : word
    }

    init(_ text: String) {
        self.init(text.utf8)
    }

    /// The bytes as an argument of `printf` in single quotes: each as a backslash and three octal digits.
    static func octal(_ bytes: some Collection<UInt8>) -> String {
        bytes.reduce(into: "") { text, byte in
            let digits = String(byte, radix: 8)
            text += "\\" + String(repeating: "0", count: 3 - digits.count) + digits
        }
    }

    private enum Part {
        case plain(Unicode.Scalar)
        case escaped([UInt8])
    }

    private static func parts(_ bytes: [UInt8]) -> [Part] {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            return bytes.map { byte in
                let scalar = Unicode.Scalar(byte)
                return scalar.isASCII && isPrintable(scalar) ? .plain(scalar) : .escaped([byte])
            }
        }
        return text.unicodeScalars.map { isPrintable($0) ? .plain($0) : .escaped(Array(String($0).utf8)) }
    }

    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        if scalar == "\n" || scalar == "\t" { return true }
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: return false
        default: return true
        }
    }

    /// Bytes that mean nothing to any shell, wherever in a word they are.
    private static func isHarmless(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: ","), UInt8(ascii: "+"), UInt8(ascii: "@"):
            true
        default: false
        }
    }
}
