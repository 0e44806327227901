import CCurl

extension ProxyConfiguration {
    /// libcurl goes without a proxy whose userinfo it cannot decode, and without a word: what was to be hidden would go out directly.
    ///
    /// - Throws: `invalidOption` for a control character in the userinfo, percent-encoded or not, and for a colon in the name of a user that goes
    ///   out by Basic (RFC 7617 section 2): the proxy would take what is behind it for the password.
    static func check(_ url: String) throws(NetworkError) {
        let bytes = Array(url.utf8)
        guard let end = bytes.lastIndex(of: UInt8(ascii: "@")) else { return }
        for index in 0..<end where isControl(bytes[index]) || encodesControl(bytes[index..<end].prefix(3)) {
            throw NetworkError(.invalidOption, phase: .preparing, message: "the userinfo of the proxy URL holds a control character")
        }
        // To SOCKS user and password are two things.
        guard !url.lowercased().hasPrefix("socks") else { return }
        let scheme = bytes[..<end].prefix { $0 != UInt8(ascii: "/") }
        let hasScheme = scheme.last == UInt8(ascii: ":") && bytes[scheme.endIndex..<end].starts(with: "//".utf8)
        let userinfo = bytes[(hasScheme ? scheme.endIndex + 2 : 0)..<end]
        let user = String(decoding: userinfo.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self)
        if user.lowercased().contains("%3a") { throw NetworkError.colonInProxyUser }
    }

    /// Credentials go out in answer to a challenge.
    var answersChallenges: Bool {
        guard case .explicit(_, let credentials?, _) = self else { return false }
        return credentials.schemes != SCURL_AUTH_BASIC
    }

    fileprivate static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7f }

    private static func encodesControl(_ text: ArraySlice<UInt8>) -> Bool {
        guard text.count == 3, text.first == UInt8(ascii: "%") else { return false }
        return UInt8(String(decoding: text.dropFirst(), as: UTF8.self), radix: 16).map(isControl) ?? false
    }
}

extension ProxyConfiguration.Credentials {
    /// - Throws: `invalidOption` for a control character, and for a colon in the name of a user that goes out by Basic (RFC 7617 section 2).
    func check() throws(NetworkError) {
        if (user + password).utf8.contains(where: ProxyConfiguration.isControl) {
            throw NetworkError(.invalidOption, phase: .preparing, message: "the credentials of the proxy hold a control character")
        }
        if isPreemptive, fitsDigestAlone { throw NetworkError.colonInProxyUser }
    }

    /// CURLOPT_PROXYAUTH(3). With more than one to choose from libcurl waits for the challenge.
    var schemes: Int {
        if fitsDigestAlone { return SCURL_AUTH_DIGEST }
        return isPreemptive ? SCURL_AUTH_BASIC : SCURL_AUTH_BASIC_OR_DIGEST
    }

    private var fitsDigestAlone: Bool { user.utf8.contains(UInt8(ascii: ":")) }
}

extension NetworkError {
    fileprivate static var colonInProxyUser: NetworkError {
        NetworkError(.invalidOption, phase: .preparing, message: "Basic cannot send a user name with a colon to the proxy")
    }
}
