/// Makes requests fit to be logged: replaces what looks like a secret with `***`.
///
/// It errs on the side of masking too much. Masked are
///
/// - the values of `Authorization` and `Proxy-Authorization` (all but the scheme), `Cookie` and `Set-Cookie`, of the fields in
///   ``additionalNames``, and of all fields whose name contains one of ``words``;
/// - user name and password in a URL;
/// - the values of query items, of items of a form, and of members of a JSON object whose name contains one of ``words`` or is
///   one of ``additionalNames``, `auth`, `pwd`, `sid` or `sig`.
package struct SecretMask: Sendable, Hashable {
    /// What stands in place of a secret.
    package static let placeholder = "***"

    /// The words that make a name suspicious. The default is `token`, `key`, `password`, `passwd`, `secret`, `signature` and
    /// `credential`.
    package static let defaultWords = ["token", "key", "password", "passwd", "secret", "signature", "credential"]

    private static let shortNames: Set<String> = ["auth", "pwd", "sid", "sig"]

    /// Names that contain one of these words carry a secret. In lower case.
    package let words: [String]
    /// Further names that carry a secret. In lower case.
    package let additionalNames: Set<String>

    /// Makes a mask. Words and names are compared without regard to case; empty words are ignored.
    package init(words: [String] = SecretMask.defaultWords, additionalNames: Set<String> = []) {
        self.words = words.map { $0.lowercased() }.filter { !$0.isEmpty }
        self.additionalNames = Set(additionalNames.map { $0.lowercased() })
    }

    /// The value of a header field, masked if the field carries a secret.
    package func maskedValue(_ value: String, ofField name: String) -> String {
        switch name.lowercased() {
        case "authorization", "proxy-authorization": return Self.maskedCredentials(value)
        case "cookie", "set-cookie": return Self.placeholder
        case "location", "content-location", "referer": return maskedURL(value)
        case let name: return isSecret(name) ? Self.placeholder : value
        }
    }

    /// A URL without user information and without the values of suspicious query items.
    package func maskedURL(_ url: String) -> String {
        // All searches are for bytes: an ASCII character with an accent behind it is another `Character`.
        let schemeEnd = Self.endOfScheme(url)
        let authorityEnd = url[schemeEnd...].utf8.firstIndex { Self.isOne($0, of: "/?#") } ?? url.endIndex
        let authority = url[schemeEnd..<authorityEnd]
        var masked = String(url[..<schemeEnd])
        // Where userinfo ends in a text that is no URL is anybody's guess: `https://ann:s/cret@host/` has a password with a slash.
        let whole = url.utf8.starts(with: "//".utf8) ? "http:" + url : url
        let isClear = !url[authorityEnd...].utf8.contains(UInt8(ascii: "@")) || URLText.scheme(of: whole) == nil
        if !isClear, (try? RequestURL(whole)) == nil { return "(malformed URL)" }
        if let at = authority.utf8.lastIndex(of: UInt8(ascii: "@")) {
            masked += Self.placeholder + authority[at...]
        } else {
            masked += authority
        }
        let rest = url[authorityEnd...]
        let fragmentStart = rest.utf8.firstIndex(of: UInt8(ascii: "#")) ?? rest.endIndex
        guard let queryStart = rest[..<fragmentStart].utf8.firstIndex(of: UInt8(ascii: "?")) else {
            return masked + rest[..<fragmentStart] + maskedFragment(rest[fragmentStart...])
        }
        let query = rest[rest.utf8.index(after: queryStart)..<fragmentStart]
        return masked + rest[..<queryStart] + "?" + maskedForm(query) + maskedFragment(rest[fragmentStart...])
    }

    /// Behind the two slashes before an authority (RFC 3986 section 3.2), or the start where there is none: those in a path or a query are no
    /// such slashes.
    private static func endOfScheme(_ url: String) -> String.Index {
        guard let slash = url.utf8.firstIndex(where: { isOne($0, of: "/?#") }), url.utf8[slash...].starts(with: "//".utf8),
            slash == url.startIndex || url.utf8[url.utf8.index(before: slash)] == UInt8(ascii: ":")
        else { return url.startIndex }
        return url.utf8.index(slash, offsetBy: 2)
    }

    /// The items of a query or of a form (`a=b&c=d`) without the values of suspicious ones.
    func maskedForm(_ form: Substring) -> String {
        var masked = ""
        var rest = form
        while true {
            let end = rest.utf8.firstIndex { Self.isOne($0, of: "&;") } ?? rest.endIndex
            masked += maskedItem(rest[..<end])
            guard end < rest.endIndex else { return masked }
            let next = rest.utf8.index(after: end)
            masked += rest[end..<next]
            rest = rest[next...]
        }
    }

    private func maskedItem(_ item: Substring) -> String {
        guard let equals = item.utf8.firstIndex(of: UInt8(ascii: "=")) else { return String(item) }
        let value = item.utf8.index(after: equals)
        guard value < item.endIndex, isSecretItem(Self.percentDecoded(item[..<equals])) else { return String(item) }
        return item[..<value] + Self.placeholder
    }

    private static func isOne(_ byte: UInt8, of characters: StaticString) -> Bool {
        characters.withUTF8Buffer { $0.contains(byte) }
    }

    /// Some sign-in answers carry their token in the fragment.
    private func maskedFragment(_ fragment: Substring) -> String {
        fragment.isEmpty ? "" : "#" + maskedForm(Substring(fragment.utf8.dropFirst()))
    }

    func isSecretItem(_ name: String) -> Bool {
        let name = name.lowercased()
        return Self.shortNames.contains(name) || isSecret(name)
    }

    private func isSecret(_ lowercasedName: String) -> Bool {
        additionalNames.contains(lowercasedName) || words.contains { lowercasedName.contains($0) }
    }

    /// The scheme says how a request authenticates itself, which is worth knowing and no secret.
    private static func maskedCredentials(_ value: String) -> String {
        guard let space = value.firstIndex(of: " ") else { return placeholder }
        return value[...space] + placeholder
    }

    private static func percentDecoded(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2, let value = UInt8(Substring(digits), radix: 16) {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
