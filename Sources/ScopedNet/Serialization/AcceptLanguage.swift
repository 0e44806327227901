import Glibc

/// The languages a person reads, as the field `Accept-Language` (RFC 9110 section 12.5.4). (pure)
///
/// The library sends it only when asked: `configuration.headers[.acceptLanguage] = AcceptLanguage.current?.fieldValue`.
/// A daemon's locale is nobody's language, and languages help to tell people apart.
public struct AcceptLanguage: Sendable, Hashable {
    /// Language tags (RFC 5646), the preferred one first; six at most.
    public let tags: [String]

    /// As many as there are weights with one digit that say more than "rather not": 1, 0.9 … 0.5.
    private static let maxTags = 6

    /// Makes the field of language tags; nil where none is left.
    ///
    /// - Parameter tags: texts that are no language tag, and repeated ones, are left out.
    public init?(tags: [String]) {
        var seen: Set<String> = []
        let good = tags.filter { Self.isTag($0) && seen.insert($0.lowercased()).inserted }
        guard !good.isEmpty else { return nil }
        self.tags = Array(good.prefix(Self.maxTags))
    }

    /// Makes the field of the variables of locale(7): `LANGUAGE`, a list with colons, and else the first of `LC_ALL`, `LC_MESSAGES` and
    /// `LANG` that is set. `de_AT.UTF-8@euro` is `de-AT`.
    ///
    /// It is nil for the locales C and POSIX, which are no language (`LANGUAGE` then does not count, as in gettext(3)), and where nothing
    /// is set.
    public init?(environment: [String: String]) {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        guard locale != "C", locale != "POSIX" else { return nil }
        let list = environment["LANGUAGE"].flatMap { $0.isEmpty ? nil : $0 } ?? locale ?? ""
        self.init(tags: list.split(separator: ":").compactMap { Self.tag(ofLocale: $0) })
    }

    /// The languages of this process, by its environment at this moment.
    public static var current: AcceptLanguage? {
        var environment: [String: String] = [:]
        for name in ["LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"] {
            if let value = getenv(name) { environment[name] = String(cString: value) }
        }
        return AcceptLanguage(environment: environment)
    }

    /// `de-AT;q=1, de;q=0.9, en;q=0.8`.
    public var fieldValue: String {
        tags.enumerated().map { index, tag in index == 0 ? "\(tag);q=1" : "\(tag);q=0.\(10 - index)" }.joined(separator: ", ")
    }

    private static func tag(ofLocale locale: some StringProtocol) -> String? {
        let name = locale.prefix { $0 != "." && $0 != "@" }
        guard name != "C", name != "POSIX" else { return nil }
        return name.split(separator: "_", omittingEmptySubsequences: false).joined(separator: "-")
    }

    /// A language of two to eight letters, and more parts of up to eight letters and digits.
    private static func isTag(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard let first = parts.first, (2...8).contains(first.count), first.allSatisfy(isLetter) else { return false }
        return parts.allSatisfy { (1...8).contains($0.count) && $0.allSatisfy { isLetter($0) || isDigit($0) } }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
