package import HTTPTypes

/// The directives of `Cache-Control` (RFC 9111 section 5.2), of a request or of a response.
///
/// Names are matched in any case. Where a directive is there several times or its argument is malformed, the stricter reading counts: the
/// smaller `max-age`, the larger `min-fresh`, and a `max-age` that is no number is zero, as RFC 9111 section 4.2.1 encourages.
package struct CacheControl: Sendable, Equatable {
    // In requests and responses.

    package private(set) var noStore = false
    /// `no-cache` for the whole message. Also true when its list of fields is empty or holds what is no name: such a list protects nothing.
    package private(set) var noCache = false
    /// Nil when there is none; zero when it is malformed.
    package private(set) var maxAge: Double?
    /// For how long past its lifetime a response may be used when an error would be the alternative (RFC 5861 section 4).
    package private(set) var staleIfError: Double?

    // In responses (section 5.2.2).

    package private(set) var mustRevalidate = false
    package private(set) var mustUnderstand = false
    package private(set) var isPublic = false
    package private(set) var isPrivate = false
    /// RFC 8246.
    package private(set) var immutable = false
    /// RFC 5861 section 3.
    package private(set) var staleWhileRevalidate: Double?
    /// The fields that `no-cache="..."` names: not to be used again without validation (section 5.2.2.4).
    package private(set) var noCacheFields: [HTTPField.Name] = []

    // In requests (section 5.2.1).

    package private(set) var onlyIfCached = false
    package private(set) var minFresh: Double?
    /// For how long past its lifetime the caller takes a response; infinity when the directive has no argument.
    package private(set) var maxStale: Double?

    package init(_ fields: HTTPFields) {
        for line in fields.lines(.cacheControl) {
            for member in FieldText.members(line) { add(member) }
        }
    }

    /// The directives of a request. `Pragma: no-cache` counts as `no-cache` when there is no `Cache-Control`: the field is deprecated (section
    /// 5.4), but whoever writes it means it.
    package init(request fields: HTTPFields) {
        self.init(fields)
        guard !fields.contains(.cacheControl) else { return }
        if fields.members(.pragma).contains(where: { $0.lowercased() == "no-cache" }) { noCache = true }
    }

    private mutating func add(_ member: Substring) {
        let (name, argument) = Argument.split(member)
        switch name {
        case "no-store": noStore = true
        case "no-cache": addNoCache(argument)
        case "max-age": maxAge = Self.smaller(maxAge, argument.seconds ?? 0)
        case "stale-if-error": staleIfError = Self.smaller(staleIfError, argument.seconds ?? 0)
        case "stale-while-revalidate": staleWhileRevalidate = Self.smaller(staleWhileRevalidate, argument.seconds ?? 0)
        case "must-revalidate": mustRevalidate = true
        case "must-understand": mustUnderstand = true
        case "public": isPublic = true
        case "private": isPrivate = true
        case "immutable": immutable = true
        case "only-if-cached": onlyIfCached = true
        case "min-fresh": minFresh = max(minFresh ?? 0, argument.seconds ?? DeltaSeconds.largest)
        case "max-stale": maxStale = Self.smaller(maxStale, argument == .none ? .infinity : argument.seconds ?? 0)
        default: break
        }
    }

    private mutating func addNoCache(_ argument: Argument) {
        if let names = argument.fieldNames { noCacheFields += names } else { noCache = true }
    }

    private static func smaller(_ known: Double?, _ seconds: Double) -> Double { min(known ?? .infinity, seconds) }
}

/// What is behind the name of a directive.
private enum Argument: Equatable {
    case none
    case text(String)
    /// Neither token nor quoted string, or with blanks around the `=`.
    case malformed

    /// The name in lower case, and the argument.
    static func split(_ member: Substring) -> (String, Argument) {
        guard let equals = member.utf8.firstIndex(of: UInt8(ascii: "=")) else { return (member.lowercased(), .none) }
        let name = member[..<equals]
        let trimmedName = FieldText.trimmed(name)
        guard trimmedName.utf8.count == name.utf8.count else { return (trimmedName.lowercased(), .malformed) }
        let text = Substring(member[equals...].utf8.dropFirst())
        if FieldText.isToken(text) { return (name.lowercased(), .text(String(text))) }
        return (name.lowercased(), FieldText.unquoted(text).map(Argument.text) ?? .malformed)
    }

    /// Nil when it is no number.
    var seconds: Double? {
        if case .text(let text) = self { DeltaSeconds.parse(text) } else { nil }
    }

    /// Nil when it is no list of names.
    var fieldNames: [HTTPField.Name]? {
        guard case .text(let text) = self else { return nil }
        let members = FieldText.members(text)
        let names = members.compactMap { HTTPField.Name(String($0)) }
        return names.isEmpty || names.count != members.count ? nil : names
    }
}

extension HTTPField.Name {
    /// What swift-http-types has no name for. A token, so that there always is one.
    fileprivate static let pragma = HTTPField.Name("Pragma") ?? .cacheControl
}
