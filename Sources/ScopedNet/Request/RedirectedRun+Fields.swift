import HTTPTypes

/// The session's cookie jar and its table of hosts that want https: before each exchange, and when a head has come.
extension RedirectedRun {
    private var jar: CookieJar? {
        guard let jar = session.configuration.cookies, template.options.handlesCookies else { return nil }
        return jar
    }

    /// The first exchange, before it asks the cache: stored responses may depend on cookies.
    func takeCookies() {
        guard jar != nil else { return }
        let first = exchange
        let headers = withCookies(first.headers, to: first.url, method: first.method, body: first.body)
        if headers !== first.headers { exchanges.setHeaders(headers) }
    }

    /// The fields with what the jar has for this hop and this moment. A `Cookie` of the caller's own is left alone.
    func withCookies(_ headers: HeaderBlock, to url: RequestURL, method: HTTPRequest.Method, body: RequestBody?) -> HeaderBlock {
        guard let jar, redirecting.hasJarCookies || headers.fields[.cookie] == nil else { return headers }
        let known = headers.fields[.cookie]
        let value = jar.field(for: url, cameBy: redirecting.visits.map(\.url), isSafeMethod: method.isSafe)
        redirecting.hasJarCookies = value != nil
        guard value != known else { return headers }
        var fields = headers.fields
        fields[.cookie] = value
        // The fields passed the same check when they were kept.
        return (try? session.headerBlock(fields, method: method, body: body)) ?? headers
    }

    /// The cookies that the failed attempt has set count. On its way through a cache the exchange keeps those it began with: whose answer it is, where
    /// `Vary` names `Cookie`, was decided by that.
    func cookiesOfRetry() -> HeaderBlock {
        let last = exchange
        return caching.transaction == nil ? withCookies(last.headers, to: last.url, method: last.method, body: last.body) : last.headers
    }

    /// Network thread, with the head of every hop and attempt.
    func keepCookies(_ head: ResponseHead) {
        guard let jar, mayGoOn else { return }
        // As they came: HTTPFields makes blanks of the control characters that a cookie is refused for.
        let fields = head.withFields { $0.values(of: "set-cookie") }
        if !fields.isEmpty { jar.receive(fields, from: exchanges.sentURL) }
    }

    // MARK: HTTPS

    func announceUpgrade() {
        guard let from = template.upgradedFrom else { return }
        feed?.push(observed: .upgraded(from: from.description, to: template.url.description), from: self)
    }

    /// The target of a redirect, over https where its host wants that.
    func upgradedTarget(_ target: RequestURL) throws(NetworkError) -> RequestURL {
        guard let upgraded = try session.upgraded(target) else { return target }
        feed?.push(observed: .upgraded(from: target.description, to: upgraded.description), from: self)
        return upgraded
    }

    /// Network thread, with the head of every exchange and attempt.
    func noteStrictTransport(_ head: ResponseHead) {
        guard let hsts = session.configuration.hsts, exchanges.sentURL.scheme == "https" else { return }
        // With any certificate accepted, anybody may be speaking (RFC 6797 section 8.1).
        let tls = session.configuration.tls
        guard !tls.dangerouslyAcceptsAnyCertificate, !tls.dangerouslyAcceptsAnyHostName else { return }
        let fields = head.withFields { $0.values(of: "strict-transport-security") }
        if let first = fields.first { hsts.receive(first, from: exchanges.sentURL.host) }
    }

    /// - Throws: ``NetworkError`` with code `insecureConnection` where a redirect leads to a host with pins over `http`.
    func checkTrust(_ target: RequestURL) throws(NetworkError) {
        do throws(NetworkError) { try session.link.checkTrust(target) } catch { throw numbered(error) }
    }
}
