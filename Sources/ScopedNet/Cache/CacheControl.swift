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

    /// Without any.
    init() {}

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

    /// The directives of one line, as it came.
    mutating func add(line: UnsafeRawBufferPointer) {
        var simple = self
        if simple.addSimple(line) {
            self = simple
        } else {
            for member in FieldText.members(FieldText.text(line)) { add(member) }
        }
    }

    /// A line of names and numbers, as nearly all are, read without making strings of it.
    ///
    /// - Returns: false when it holds anything else, and was not read to its end.
    private mutating func addSimple(_ line: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        func skipBlanks() { while index < line.count, line[index] == 0x20 || line[index] == 0x09 { index += 1 } }
        while true {
            skipBlanks()
            let start = index
            while index < line.count, ResponseHeadParser.isLetter(line[index] | 0x20) || line[index] == UInt8(ascii: "-") { index += 1 }
            let name = UnsafeRawBufferPointer(rebasing: line[start..<index])
            var seconds: Double?
            if index < line.count, line[index] == UInt8(ascii: "=") {
                let digits = index + 1
                index = digits
                while index < line.count, ResponseHeadParser.isDigit(line[index]) { index += 1 }
                seconds = DeltaSeconds.parse(UnsafeRawBufferPointer(rebasing: line[digits..<index]))
                guard seconds != nil, !name.isEmpty else { return false }
            }
            skipBlanks()
            guard index == line.count || line[index] == UInt8(ascii: ",") else { return false }
            if !name.isEmpty { guard add(name, seconds) else { return false } }
            if index == line.count { return true }
            index += 1
        }
    }

    private mutating func add(_ name: UnsafeRawBufferPointer, _ seconds: Double?) -> Bool {
        func isNamed(_ known: StaticString) -> Bool { FieldLines.matches(name, known: known) }
        switch name.count {
        case 6 where isNamed("public"): isPublic = true
        case 7 where isNamed("private"): isPrivate = true
        case 7 where isNamed("max-age"): maxAge = Self.smaller(maxAge, seconds ?? 0)
        case 8 where isNamed("no-store"): noStore = true
        case 8 where isNamed("no-cache"):
            // An argument is a list of fields.
            guard seconds == nil else { return false }
            noCache = true
        case 9 where isNamed("immutable"): immutable = true
        case 9 where isNamed("min-fresh"): minFresh = max(minFresh ?? 0, seconds ?? DeltaSeconds.largest)
        case 9 where isNamed("max-stale"): maxStale = Self.smaller(maxStale, seconds ?? .infinity)
        case 14 where isNamed("stale-if-error"): staleIfError = Self.smaller(staleIfError, seconds ?? 0)
        case 14 where isNamed("only-if-cached"): onlyIfCached = true
        case 15 where isNamed("must-revalidate"): mustRevalidate = true
        case 15 where isNamed("must-understand"): mustUnderstand = true
        case 22 where isNamed("stale-while-revalidate"): staleWhileRevalidate = Self.smaller(staleWhileRevalidate, seconds ?? 0)
        default: break
        }
        return true
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
