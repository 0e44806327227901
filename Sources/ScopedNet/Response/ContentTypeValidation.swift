/// Which media types of a response are a success. (pure)
///
/// ```swift
/// request.options { $0.validation.contentTypes = .only(["image/*"]) }
/// ```
///
/// What is not acceptable ends as `unacceptableContentType`, before anything is decoded and before a download replaces its destination. Where
/// the status is not acceptable either, that is the error, and this one its `underlying`.
public struct ContentTypeValidation: Sendable, Hashable {
    package enum Kind: Sendable, Hashable { case automatic, any, only([MediaTypePattern]), adding([MediaTypePattern]) }
    package let kind: Kind

    /// What the decoder expects; without expectations of its own, everything. A response that does not say what it is passes. The default.
    public static let automatic = ContentTypeValidation(kind: .automatic)
    /// Everything, also what the decoder does not expect: for servers that send JSON as `text/plain`.
    public static let any = ContentTypeValidation(kind: .any)
    /// These alone, in place of what the decoder expects: `application/json`, `image/*`, or by their structured syntax `*/*+json`. Case and
    /// parameters do not count. A response that does not say what it is passes only if it is empty and says so, and without content (204, 205,
    /// 304) there is no type to ask for.
    public static func only(_ types: [String]) -> ContentTypeValidation {
        ContentTypeValidation(kind: .only(types.map { MediaTypePattern($0) }))
    }
    /// What ``automatic`` accepts, and these as well: `.adding(["text/plain"])` for a server that sends JSON as text.
    public static func adding(_ types: [String]) -> ContentTypeValidation {
        ContentTypeValidation(kind: .adding(types.map { MediaTypePattern($0) }))
    }

    /// Decides about a response. `field` is the value of `Content-Type`, if there is one, and `expected` what the decoder expects; nil for
    /// everything.
    func accepts(_ field: String?, status: Int, isEmpty: Bool, expected: [MediaTypePattern]?) -> Bool {
        let patterns: [MediaTypePattern]
        switch kind {
        case .any: return true
        case .automatic:
            // A value that nothing was sent for is the decoder's business.
            guard let expected, field != nil, !isEmpty else { return true }
            patterns = expected
        case .adding(let types):
            guard let expected, field != nil, !isEmpty else { return true }
            patterns = expected + types
        case .only(let types):
            if status == 204 || status == 205 || status == 304 { return true }
            patterns = types
        }
        guard let field else { return isEmpty }
        guard let type = MediaType(field) else { return false }
        return patterns.contains { $0.matches(type) }
    }
}

/// A media type, a range of them, or all of one structured syntax. (pure)
package struct MediaTypePattern: Sendable, Hashable {
    private let type: Substring
    private let subtype: Substring
    /// As written, for messages.
    package let text: String

    package init(_ text: String) {
        self.text = text
        let essence = text.lowercased().prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }
        let halves = essence.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        type = halves[0][...]
        subtype = halves.count == 2 ? halves[1] : ""
    }

    package func matches(_ other: MediaType) -> Bool {
        guard type == "*" || type == other.type else { return false }
        // A star may stand in a name, too.
        if subtype == "*" || subtype == other.subtype { return true }
        return subtype.hasPrefix("*+") && other.suffix.map { $0 == subtype.dropFirst(2) } ?? false
    }
}
