package import HTTPTypes

/// The directives of `Cache-Control` (RFC 9111 section 5.2), of a request or of a response.
///
/// Names are matched in any case. Where a directive is there several times or its argument is malformed, the stricter reading counts: the
/// smaller `max-age`, the larger `min-fresh`, and a `max-age` that is no number is zero, as RFC 9111 section 4.2.1 encourages.
package struct CacheControl: Sendable, Equatable {
    /// What is behind a name.
    private enum Argument: Sendable, Equatable {
        case none
        case text(String)
        /// Neither token nor quoted string, or with blanks around the `=`.
        case malformed
    }

    /// By name in lower case.
    private var directives: [String: [Argument]] = [:]

    package init(_ fields: HTTPFields) {
        for line in fields.lines(.cacheControl) {
            for member in FieldText.members(line) {
                let (name, argument) = Self.directive(member)
                directives[name, default: []].append(argument)
            }
        }
    }

    private static func directive(_ member: Substring) -> (String, Argument) {
        guard let equals = member.utf8.firstIndex(of: UInt8(ascii: "=")) else { return (member.lowercased(), .none) }
        let name = member[..<equals]
        let value = member[equals...].utf8.dropFirst()
        let trimmedName = FieldText.trimmed(name)
        guard trimmedName.utf8.count == name.utf8.count else { return (trimmedName.lowercased(), .malformed) }
        let text = Substring(value)
        if FieldText.isToken(text) { return (name.lowercased(), .text(String(text))) }
        return (name.lowercased(), FieldText.unquoted(text).map(Argument.text) ?? .malformed)
    }

    package func contains(_ name: String) -> Bool { directives[name] != nil }

    /// The numbers of a directive; nil stands for an argument that is none.
    private func seconds(_ name: String) -> [Double?]? {
        directives[name]?.map { argument in
            if case .text(let text) = argument { DeltaSeconds.parse(text) } else { nil }
        }
    }

    // MARK: In requests and responses

    package var noStore: Bool { contains("no-store") }
    /// Nil when there is none; zero when it is malformed.
    package var maxAge: Double? { seconds("max-age")?.map { $0 ?? 0 }.min() }
    /// For how long past its lifetime a response may be used when an error would be the alternative (RFC 5861 section 4).
    package var staleIfError: Double? { seconds("stale-if-error")?.map { $0 ?? 0 }.min() }

    // MARK: In responses (section 5.2.2)

    package var mustRevalidate: Bool { contains("must-revalidate") }
    package var mustUnderstand: Bool { contains("must-understand") }
    package var isPublic: Bool { contains("public") }
    package var isPrivate: Bool { contains("private") }
    /// RFC 8246.
    package var immutable: Bool { contains("immutable") }
    /// RFC 5861 section 3.
    package var staleWhileRevalidate: Double? { seconds("stale-while-revalidate")?.map { $0 ?? 0 }.min() }

    /// `no-cache` for the whole message. Also true when its list of fields is empty or holds what is no name: such a list protects nothing.
    package var noCache: Bool {
        directives["no-cache"]?.contains { Self.fieldNames($0) == nil } ?? false
    }

    /// The fields that `no-cache="..."` names: not to be used again without validation (section 5.2.2.4).
    package var noCacheFields: [HTTPField.Name] {
        directives["no-cache"]?.flatMap { Self.fieldNames($0) ?? [] } ?? []
    }

    private static func fieldNames(_ argument: Argument) -> [HTTPField.Name]? {
        guard case .text(let text) = argument else { return nil }
        let members = FieldText.members(text)
        let names = members.compactMap { HTTPField.Name(String($0)) }
        return names.isEmpty || names.count != members.count ? nil : names
    }

    // MARK: In requests (section 5.2.1)

    package var onlyIfCached: Bool { contains("only-if-cached") }
    package var minFresh: Double? { seconds("min-fresh")?.map { $0 ?? DeltaSeconds.largest }.max() }

    /// For how long past its lifetime the caller takes a response; infinity when the directive has no argument.
    package var maxStale: Double? {
        directives["max-stale"]?.map { argument in
            switch argument {
            case .none: .infinity
            case .text(let text): DeltaSeconds.parse(text) ?? 0
            case .malformed: 0
            }
        }.min()
    }
}

extension CacheControl {
    /// The directives of a request. `Pragma: no-cache` counts as `no-cache` when there is no `Cache-Control`: the field is deprecated (section
    /// 5.4), but whoever writes it means it.
    package init(request fields: HTTPFields) {
        self.init(fields)
        guard !fields.contains(.cacheControl) else { return }
        if fields.members(.pragma).contains(where: { $0.lowercased() == "no-cache" }) { directives["no-cache"] = [.none] }
    }
}

extension HTTPField.Name {
    /// Names that swift-http-types has none for. Tokens, so that there is always a value.
    static let pragma = HTTPField.Name("Pragma") ?? .cacheControl
    static let keepAlive = HTTPField.Name("Keep-Alive") ?? .connection
    static let proxyConnection = HTTPField.Name("Proxy-Connection") ?? .connection
}
