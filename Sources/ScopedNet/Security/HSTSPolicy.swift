/// A value of `Strict-Transport-Security` (RFC 6797 section 6.1). (pure)
struct HSTSPolicy: Sendable, Equatable {
    /// Seconds from now; 0 ends the policy.
    let maxAge: Int64
    let includesSubdomains: Bool

    /// The longest time that is told apart from longer ones: 2^31 seconds, 68 years.
    private static let longest: Int64 = 1 << 31

    /// - Returns: nil for a value without a valid `max-age`, with a directive that occurs twice, or that is no list of directives. What is not known
    ///   is ignored.
    init?(_ value: String) {
        var maxAge: Int64?
        var includesSubdomains = false
        var seen: Set<String> = []
        for part in Self.parts(of: value.utf8) {
            let directive = Self.trimmed(part)
            if directive.isEmpty { continue }
            let pieces = directive.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(decoding: Self.trimmed(pieces[0]), as: UTF8.self).lowercased()
            guard !name.isEmpty, name.utf8.allSatisfy(Self.isTokenByte), seen.insert(name).inserted else { return nil }
            switch name {
            case "max-age":
                guard pieces.count == 2, let seconds = Self.seconds(Self.trimmed(pieces[1])) else { return nil }
                maxAge = seconds
            case "includesubdomains":
                guard pieces.count == 1 else { return nil }
                includesSubdomains = true
            default: break
            }
        }
        guard let maxAge else { return nil }
        self.maxAge = maxAge
        self.includesSubdomains = includesSubdomains
    }

    /// The text between semicolons; those in a quoted string are part of it.
    private static func parts(of text: String.UTF8View) -> [Substring.UTF8View] {
        var parts: [Substring.UTF8View] = []
        var start = text.startIndex
        var (isQuoted, isEscaped) = (false, false)
        for index in text.indices {
            if isEscaped {
                isEscaped = false
                continue
            }
            switch text[index] {
            case UInt8(ascii: "\\"): isEscaped = isQuoted
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: ";") where !isQuoted:
                parts.append(text[start..<index])
                start = text.index(after: index)
            default: break
            }
        }
        return parts + [text[start...]]
    }

    /// Digits, possibly within quotes.
    private static func seconds(_ text: Substring.UTF8View) -> Int64? {
        var text = text
        if text.first == UInt8(ascii: "\"") {
            guard text.count >= 2, text.last == UInt8(ascii: "\"") else { return nil }
            text = text.dropFirst().dropLast()
        }
        guard !text.isEmpty, text.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return min(Int64(String(decoding: text, as: UTF8.self)) ?? longest, longest)
    }

    private static func trimmed(_ text: Substring.UTF8View) -> Substring.UTF8View {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        var text = text.drop(while: isBlank)
        while let last = text.last, isBlank(last) { text = text.dropLast() }
        return text
    }

    /// RFC 9110 section 5.6.2.
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
