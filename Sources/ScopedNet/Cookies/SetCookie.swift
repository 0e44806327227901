/// A `Set-Cookie` field, read (RFC 6265bis section 5.6): what the server asks for, before anybody decided whether it gets it. (pure)
package struct SetCookie: Sendable, Hashable {
    package typealias SameSite = Cookie.SameSite

    package var name: String
    package var value: String
    /// Seconds since 1970.
    package var expires: Int64?
    /// Seconds; zero or less: at once.
    package var maxAge: Int64?
    /// Lower case, without the leading dot; empty where the field has an empty one.
    package var domain: String?
    /// Nil where there is none that begins with a slash: the path of the request then counts.
    package var path: String?
    package var isSecure = false
    package var isHTTPOnly = false
    /// Nil where nothing is said, or something unknown.
    package var sameSite: SameSite?

    /// Name and value together, in bytes.
    private static let maxPairBytes = 4096
    private static let maxAttributeBytes = 1024

    /// - Returns: nil for what must be ignored as a whole: control characters, neither name nor value, or too much of them.
    package init?(_ field: String) {
        guard !field.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) else { return nil }
        var parts = field.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)[...]
        guard let pair = parts.popFirst() else { return nil }
        let (name, value) = Self.halves(pair)
        // Without a `=` all of it is the value.
        self.name = value == nil ? "" : name
        self.value = value ?? name
        guard !(self.name.isEmpty && self.value.isEmpty), self.name.utf8.count + self.value.utf8.count <= Self.maxPairBytes else {
            return nil
        }
        for part in parts {
            let (name, value) = Self.halves(part)
            guard (value ?? "").utf8.count <= Self.maxAttributeBytes else { continue }
            take(name.lowercased(), value ?? "")
        }
    }

    /// Of an attribute that comes twice the last one counts.
    private mutating func take(_ name: String, _ value: String) {
        switch name {
        case "expires": if let date = CookieDate.secondsSince1970(value) { expires = date }
        case "max-age": if let seconds = Self.seconds(value) { maxAge = seconds }
        case "domain": domain = (value.utf8.first == UInt8(ascii: ".") ? String(value.dropFirst()) : value).lowercased()
        case "path": path = value.utf8.first == UInt8(ascii: "/") ? value : nil
        case "secure": isSecure = true
        case "httponly": isHTTPOnly = true
        case "samesite": sameSite = SameSite(rawValue: value.lowercased())
        default: break
        }
    }

    private static func halves(_ part: Substring.UTF8View.SubSequence) -> (String, String?) {
        guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else { return (trimmed(part), nil) }
        return (trimmed(part[..<equals]), trimmed(part[part.index(after: equals)...]))
    }

    private static func trimmed(_ text: Substring.UTF8View.SubSequence) -> String {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        var text = text.drop(while: isSpace)
        while let last = text.last, isSpace(last) { text.removeLast() }
        return String(Substring(text))
    }

    /// Digits, behind a minus at most; a number beyond `Int64` is as good as for ever.
    private static func seconds(_ text: String) -> Int64? {
        let digits = text.utf8.first == UInt8(ascii: "-") ? text.utf8.dropFirst() : text.utf8[...]
        guard !digits.isEmpty, digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return Int64(text) ?? (text.utf8.first == UInt8(ascii: "-") ? .min : .max)
    }
}
