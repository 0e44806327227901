/// What the text of a URL says before anybody parses it (RFC 3986 section 3). (pure)
enum URLText {
    /// What stands before the first colon, where that is a scheme; nil of a relative reference.
    static func scheme(of text: String) -> Substring? {
        let bytes = text.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), let first = bytes.first, isLetter(first) else { return nil }
        let isScheme = bytes[..<colon].allSatisfy {
            isLetter($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || "+-.".utf8.contains($0)
        }
        return isScheme ? text[..<colon] : nil
    }

    /// `http:x`, `http:/x`, `http:///x`: without a host, and so to be refused (RFC 9110 section 4.2.1). libcurl, and browsers, take what comes next
    /// for the host, which other readers of the same text take for a path.
    static func lacksHost(_ text: String) -> Bool {
        guard let scheme = scheme(of: text), isHTTP(scheme) else { return false }
        var rest = text.utf8[scheme.endIndex...].dropFirst()
        for _ in 0..<2 where rest.popFirst() != UInt8(ascii: "/") { return true }
        return rest.first.map { "/?#".utf8.contains($0) } ?? true
    }

    /// A backslash in the authority, which RFC 3986 section 3.2 does not know: in `http://one\@two/` browsers read the host `one`, and libcurl `two`.
    static func hasBackslashInAuthority(_ text: String) -> Bool {
        guard text.utf8.contains(UInt8(ascii: "\\")) else { return false }
        var rest = text.utf8[...]
        if let scheme = scheme(of: text) { rest = text.utf8[scheme.endIndex...].dropFirst() }
        guard rest.starts(with: "//".utf8) else { return false }
        return rest.dropFirst(2).prefix { !"/?#".utf8.contains($0) }.contains(UInt8(ascii: "\\"))
    }

    /// The mark of a query, and nothing behind it: another resource than without the mark (RFC 3986 section 6.2.3).
    static func endsInEmptyQuery(_ text: String) -> Bool {
        let end = text.utf8.firstIndex(of: UInt8(ascii: "#")) ?? text.utf8.endIndex
        guard let mark = text.utf8[..<end].firstIndex(of: UInt8(ascii: "?")) else { return false }
        return text.utf8.index(after: mark) == end
    }

    /// Neither `http` nor `https`. A port behind the colon makes it a host: `localhost:8080`.
    static func hasOtherScheme(_ text: String) -> Bool {
        guard let scheme = scheme(of: text), !isHTTP(scheme) else { return false }
        guard let next = text.utf8[scheme.endIndex...].dropFirst().first else { return true }
        return !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next)
    }

    /// For people's eyes: stars in the place of what stands before the `@` of the authority. What cannot be read as a URL is not shown where it
    /// has an `@`: where userinfo ends in it is anybody's guess.
    static func maskingUserinfo(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "@")) else { return text }
        if scheme(of: text) != nil { return (try? RequestURL(text))?.description ?? "(malformed URL)" }
        // A relative reference: with two slashes it has an authority, and without any it may be meant to begin with one.
        return maskingUserinfo(of: text, from: text.utf8.index(text.startIndex, offsetBy: text.utf8.starts(with: "//".utf8) ? 2 : 0))
    }

    /// Puts stars in the place of userinfo in an authority that begins at `start`.
    static func maskingUserinfo(of text: String, from start: String.Index) -> String {
        // Bytes: an `@` with an accent behind it is another `Character`.
        let rest = text.utf8[start...]
        let end = rest.firstIndex { "/?#".utf8.contains($0) } ?? rest.endIndex
        guard let at = rest[..<end].lastIndex(of: UInt8(ascii: "@")) else { return text }
        return "\(text[..<start])***\(text[at...])"
    }

    private static func isHTTP(_ scheme: Substring) -> Bool {
        switch scheme.utf8.count {
        case 4: scheme.lowercased() == "http"
        case 5: scheme.lowercased() == "https"
        default: false
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) }
}
