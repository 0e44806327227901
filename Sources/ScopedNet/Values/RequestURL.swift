import CCurl
import Glibc

/// An absolute `http` or `https` URL, parsed once (RFC 3986, by libcurl's URL API: curl_url_set(3)).
///
/// It keeps libcurl's own parsed form, which saves a fifth of libcurl's work for each request (measured).
public final class RequestURL: Sendable {
    /// As given, without the fragment.
    public let string: String
    /// Lower case.
    public let scheme: String
    /// Lower case; IPv6 literals in brackets.
    public let host: String
    /// Explicit or the scheme's default.
    public let port: Int
    /// Scheme, host and port: what connections, limits and credentials are kept by.
    public let origin: Origin
    /// True for a URL with a user name or a password in it. ``description`` hides them.
    public let hasCredentials: Bool
    /// A small number for ``origin``, the same for all URLs of it.
    package var originID: UInt32 { originKey.id }
    let originKey: OriginKey

    // Safety: written in `init` only. libcurl duplicates it for each transfer (curl_url_dup in url.c) and never changes it,
    // and reading it from several threads at once is allowed (libcurl-thread(3): handles must not be *modified* concurrently).
    nonisolated(unsafe) package let handle: OpaquePointer?

    /// Scheme, host and port of a URL (RFC 6454).
    public struct Origin: Hashable, Sendable, CustomStringConvertible {
        /// `http` or `https`, in lower case.
        public let scheme: String
        /// The host in lower case; an IPv6 address in brackets.
        public let host: String
        /// The port of the URL, or the scheme's default.
        public let port: Int
        /// The origin as a URL, always with its port.
        public var description: String { "\(scheme)://\(host):\(port)" }
    }

    /// Parses an absolute URL.
    ///
    /// - Throws: ``NetworkError`` with code `invalidURL` or `unsupportedScheme`.
    public convenience init(_ text: String) throws(NetworkError) {
        try self.init(text, relativeTo: nil)
    }

    /// Resolves `text` against `base` (RFC 3986 section 5.3). Letters beyond ASCII in path and query are percent-encoded.
    public convenience init(_ text: String, relativeTo base: RequestURL?) throws(NetworkError) {
        try self.init(text, relativeTo: base, isLenient: false)
    }

    /// Resolves `text` against `base`. With `isLenient` spaces are percent-encoded too, as browsers do with `Location`.
    package init(_ text: String, relativeTo base: RequestURL?, isLenient: Bool) throws(NetworkError) {
        guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x20 && !isLenient || $0 == 0x7F }) else {
            throw .invalidURL(text, "it contains a space or control character")
        }
        guard !URLText.lacksHost(text) else { throw .invalidURL(text, "it has no host") }
        guard !URLText.hasBackslashInAuthority(text) else {
            throw .invalidURL(text, "there is a backslash before its path; in a name or password write %5C")
        }
        // By us: libcurl, allowed to take spaces, leaves those of the credentials as they are.
        let text = isLenient ? text.replacing(" ", with: "%20") : text
        guard let handle = base?.handle.flatMap({ curl_url_dup($0) }) ?? curl_url() else {
            throw NetworkError(.resources, phase: .preparing, message: "libcurl could not allocate a URL")
        }
        let flags = UInt32(CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE)
        // An empty relative reference is the base itself (RFC 3986 section 5.2.2), and so is a fragment alone, before which libcurl drops a segment.
        let isBase = base != nil && (text.isEmpty || text.utf8.first == UInt8(ascii: "#"))
        var code = isBase ? CURLUE_OK : curl_url_set(handle, CURLUPART_URL, text, flags)
        curl_url_set(handle, CURLUPART_FRAGMENT, nil, 0)
        // libcurl knows of an empty query and sends its mark, and leaves it out of the text.
        let mark = isBase ? base?.string.utf8.last == UInt8(ascii: "?") : URLText.endsInEmptyQuery(text)
        // A host in percent-encoding is decoded after it was looked at: once more, so that `1%31` is the address it will be used as.
        if code == CURLUE_OK, text.utf8.contains(UInt8(ascii: "%")) {
            var decoded: UnsafeMutablePointer<CChar>?
            code = curl_url_get(handle, CURLUPART_URL, &decoded, 0)
            if code == CURLUE_OK, let decoded {
                code = curl_url_set(handle, CURLUPART_URL, mark ? String(cString: decoded) + "?" : String(cString: decoded), flags)
            }
            curl_free(decoded)
        }
        guard code == CURLUE_OK else {
            curl_url_cleanup(handle)
            guard code != CURLUE_OUT_OF_MEMORY else { throw NetworkError(.resources, phase: .preparing, message: "no memory for a URL") }
            throw .unusableURL(text, String(cString: curl_url_strerror(code)))
        }
        func part(_ what: CURLUPart, _ flags: Int32 = 0) -> String? {
            var text: UnsafeMutablePointer<CChar>?
            guard curl_url_get(handle, what, &text, UInt32(flags)) == CURLUE_OK, let text else { return nil }
            defer { curl_free(text) }
            return String(cString: text)
        }
        let scheme = part(CURLUPART_SCHEME)?.lowercased() ?? ""
        guard let host = part(CURLUPART_HOST)?.lowercased(), !host.isEmpty,
            let port = part(CURLUPART_PORT, CURLU_DEFAULT_PORT).flatMap({ Int($0) }) ?? (scheme == "http" || scheme == "https" ? nil : 0),
            let string = part(CURLUPART_URL)
        else {
            curl_url_cleanup(handle)
            throw .unusableURL(text, "it has no host")
        }
        guard scheme == "http" || scheme == "https" else {
            curl_url_cleanup(handle)
            throw .unsupportedScheme(scheme)
        }
        // libcurl converts by the program's locale, which Swift programs leave at "C"; said here rather than by its "bad/illegal format". To ask
        // it by CURLU_PUNYCODE would leak the name below libcurl 8 whenever the answer is no.
        guard host.utf8.allSatisfy({ $0 < 0x80 }) || String(cString: nl_langinfo(nl_item(CODESET))) == "UTF-8" else {
            curl_url_cleanup(handle)
            throw .invalidURL(text, "its host name is not ASCII and cannot be converted here; write it as xn--…")
        }
        self.handle = handle
        self.scheme = scheme
        self.host = host
        self.port = port
        self.string = mark ? string + "?" : string
        hasCredentials = part(CURLUPART_USER) != nil || part(CURLUPART_PASSWORD) != nil
        origin = Origin(scheme: scheme, host: host, port: port)
        originKey = OriginKey.of(origin)
    }

    /// Stands for the URL of a request whose own is malformed; never sent.
    package static func placeholder(_ text: String) -> RequestURL { RequestURL(malformed: text) }

    private init(malformed text: String) {
        // Where userinfo ends is anybody's guess.
        string = text.utf8.contains(UInt8(ascii: "@")) ? "" : text
        scheme = ""
        host = ""
        port = 0
        origin = Origin(scheme: "", host: "", port: 0)
        originKey = .none
        hasCredentials = false
        handle = nil
    }

    deinit { if let handle { curl_url_cleanup(handle) } }
}

extension NetworkError {
    fileprivate static func unsupportedScheme(_ scheme: some StringProtocol) -> NetworkError {
        NetworkError(.unsupportedScheme, phase: .preparing, message: "'\(scheme)' is not supported; use http or https")
    }

    /// What libcurl does not take as it is may be a good URL of another kind: `data:,x`, `file:///x`.
    fileprivate static func unusableURL(_ text: String, _ why: String) -> NetworkError {
        guard URLText.hasOtherScheme(text), let scheme = URLText.scheme(of: text) else { return .invalidURL(text, why) }
        return .unsupportedScheme(scheme.lowercased())
    }

    static func relativeURL(_ text: String) -> NetworkError {
        NetworkError(.invalidURL, phase: .preparing, message: "\(shown(text)) is relative, and the session has no base URL")
    }

    fileprivate static func invalidURL(_ text: String, _ why: String) -> NetworkError {
        NetworkError(.invalidURL, phase: .preparing, message: "\(shown(text)) is not a valid URL: \(why)")
    }

    /// Neither userinfo nor what looks like a secret must reach a log.
    private static func shown(_ text: String) -> String {
        text.utf8.contains(UInt8(ascii: "@")) ? "the URL" : "'\(SecretMask().maskedURL(text).prefix(200))'"
    }
}

extension RequestURL: CustomStringConvertible {
    /// The URL, with stars in place of user name and password.
    public var description: String {
        guard hasCredentials else { return string }
        return URLText.maskingUserinfo(of: string, from: string.utf8.index(string.startIndex, offsetBy: "\(scheme)://".utf8.count))
    }
}

extension RequestURL {
    /// Path and query, as they go into the request line (RFC 9112 section 3.2.1).
    package var target: String {
        let start = string.utf8.firstIndex(of: UInt8(ascii: ":")).map { string.utf8.index($0, offsetBy: 3) } ?? string.startIndex
        let rest = string[start...]
        guard let end = rest.utf8.firstIndex(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }) else { return "/" }
        return rest.utf8[end] == UInt8(ascii: "?") ? "/" + rest[end...] : String(rest[end...])
    }

    /// A mark with nothing behind it.
    package var hasEmptyQuery: Bool {
        string.utf8.firstIndex(of: UInt8(ascii: "?")).map { string.utf8.index(after: $0) == string.utf8.endIndex } ?? false
    }

    /// Without the query.
    package var path: String { String(Substring(target.utf8.prefix { $0 != UInt8(ascii: "?") })) }
}
