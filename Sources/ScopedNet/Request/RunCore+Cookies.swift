import HTTPTypes

/// The session's cookie jar, where the run has a say in it: before each exchange, and when a head has come.
extension RunCore {
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
        guard let jar, drive.hasJarCookies || headers.fields[.cookie] == nil else { return headers }
        let known = headers.fields[.cookie]
        let value = jar.field(for: url, cameBy: drive.visits.map(\.url), isSafeMethod: method.isSafe)
        drive.hasJarCookies = value != nil
        guard value != known else { return headers }
        var fields = headers.fields
        fields[.cookie] = value
        // What was kept once passed the same check.
        return (try? session.headerBlock(fields, method: method, body: body)) ?? headers
    }

    /// What the failed attempt has set counts. On its way through a cache the exchange keeps what it began with: whose answer it is, where
    /// `Vary` names `Cookie`, was decided by that.
    func cookiesOfRetry() -> HeaderBlock {
        let last = exchange
        return drive.cache == nil ? withCookies(last.headers, to: last.url, method: last.method, body: last.body) : last.headers
    }

    /// Network thread, with the head of every hop and attempt.
    func keepCookies(_ head: ResponseHead) {
        guard let jar, mayGoOn else { return }
        // As they came: HTTPFields makes blanks of the control characters that a cookie is refused for.
        let fields = head.withFields { $0.values(of: "set-cookie") }
        if !fields.isEmpty { jar.receive(fields, from: exchange.url) }
    }
}
