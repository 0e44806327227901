import ScopedNet

/// A header field as anybody may see it (pure): without secrets, and without user names and passwords in URLs, wherever in a value those are.
enum ShownField {
    private static let mask = SecretMask()

    static func value(_ value: String, of name: String) -> String {
        if name.lowercased().contains("cookie") { return SecretMask.placeholder }
        return withoutSecretItems(withoutUserinfo(mask.maskedValue(value, ofField: name)))
    }

    /// The name alone says that the value is a secret.
    static func isSecret(_ name: String) -> Bool { mask.maskedValue("x", ofField: name) == SecretMask.placeholder }

    /// `<//ann:secret@host/>` becomes `<//***@host/>`. Fields such as `Link` and `Refresh` have URLs among other things.
    static func withoutUserinfo(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "@")) else { return text }
        var shown: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let reference = rest.prefix { !" \t\"<>".utf8.contains($0) }
            appendWithoutUserinfo(reference, to: &shown)
            rest = rest.dropFirst(reference.count)
            if let between = rest.popFirst() { shown.append(between) }
        }
        return String(decoding: shown, as: UTF8.self)
    }

    private static func appendWithoutUserinfo(_ reference: ArraySlice<UInt8>, to shown: inout [UInt8]) {
        let last = reference.lastIndex(of: UInt8(ascii: "@"))
        var rest = reference
        while let last, rest.startIndex <= last {
            let slashes = rest.prefix { $0 == UInt8(ascii: "/") }
            shown += slashes
            rest = rest.dropFirst(slashes.count)
            if slashes.count >= 2, let at = endOfUserinfo(rest, last) {
                shown += Array(SecretMask.placeholder.utf8)
                rest = rest[at...]
            }
            let plain = rest.prefix { $0 != UInt8(ascii: "/") }
            shown += plain
            rest = rest.dropFirst(plain.count)
        }
        shown += rest
    }

    /// `</a?token=1&b=2>` becomes `</a?token=***&b=2>`, wherever in a value an item stands.
    static func withoutSecretItems(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "=")) else { return text }
        var shown: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let first = rest.popFirst() {
            shown.append(first)
            guard "?&;#".utf8.contains(first) else { continue }
            let name = rest.prefix { !"=?&;# \t\"<>,".utf8.contains($0) }
            guard rest.dropFirst(name.count).first == UInt8(ascii: "="), isSecretItem(name) else { continue }
            shown += name + Array("=\(SecretMask.placeholder)".utf8)
            rest = rest.dropFirst(name.count + 1).drop { !"&;# \t\"<>,".utf8.contains($0) }
        }
        return String(decoding: shown, as: UTF8.self)
    }

    private static func isSecretItem(_ name: ArraySlice<UInt8>) -> Bool {
        let name = String(decoding: name, as: UTF8.self)
        return mask.maskedURL("?\(name)=x") == "?\(name)=\(SecretMask.placeholder)"
    }

    /// Finds the `@`; nil where nothing stands before the host. `last` is the index of the last one of the reference.
    private static func endOfUserinfo(_ rest: ArraySlice<UInt8>, _ last: Int) -> Int? {
        let authority = rest.prefix { !"/?#".utf8.contains($0) }
        if let at = authority.lastIndex(of: UInt8(ascii: "@")) { return at }
        // Where userinfo ends in what is no authority is anybody's guess: the password of `//ann:s/cret@host/` has a slash.
        let isAuthority = URLOrigin("http://" + String(decoding: authority, as: UTF8.self)) != nil
        return isAuthority || last < rest.startIndex ? nil : last
    }
}
