/// Something about a session or a request that is valid, and probably not what was meant.
public struct SessionWarning: Sendable, Hashable, CustomStringConvertible {
    /// The finding and its effect in one sentence, safe to log: without userinfo, and without what looks like a secret.
    public let description: String
    /// True for what a program may do on purpose, such as a request that is made ready and then not needed. Loggers tell of it at `debug`.
    let isMinor: Bool

    package init(description: String, isMinor: Bool = false) {
        self.description = description
        self.isMinor = isMinor
    }
}

extension SessionWarning {
    /// The warning for a request that goes although closures were registered for its next start. (pure)
    static func ofForgottenStart(_ url: String, closures: [String]) -> SessionWarning {
        let masked = SecretMask().maskedURL(URLText.maskingUserinfo(url)).printable
        let places = closures.prefix(3).joined(separator: ", ")
        let fault = "was dropped without a start although closures were registered at"
        return SessionWarning(description: "the request for '\(masked)' \(fault) \(places): call start()", isMinor: true)
    }

    /// The warning for a base URL whose last segment is replaced by every relative URL (RFC 3986 section 5.2.3); nil for any other. (pure)
    static func ofBase(_ base: String) -> SessionWarning? {
        guard let url = try? RequestURL(base) else { return nil }
        let path = url.path
        // By bytes: a slash with an accent behind it is another `Character`.
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        let segment = String(path[path.utf8.index(after: slash)...])
        guard !segment.isEmpty else { return nil }
        let text = "\(url.scheme)://\(url.authority)\(path)"
        return SessionWarning(
            description: "the base URL \(text.printable) does not end with a slash, so '\(segment.printable)' is left out of relative URLs")
    }
}
