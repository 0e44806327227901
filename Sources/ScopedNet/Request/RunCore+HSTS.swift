/// HTTP Strict Transport Security, where requests go through it.
extension Session {
    /// The URL that is asked instead of this one; nil where that is this one.
    func upgraded(_ url: RequestURL) throws(NetworkError) -> RequestURL? {
        guard let hsts = configuration.hsts, url.scheme == "http", hsts.isSecure(url.host) else { return nil }
        return try RequestURL(HSTSTable.upgraded(url.string, port: url.port))
    }

    /// The template of a request that goes to https instead of http; nil where it does not.
    func upgradedTemplate(_ description: RequestDescription) throws(NetworkError) -> RequestTemplate? {
        guard configuration.hsts != nil else { return nil }
        let original = try url(description.url)
        guard let url = try upgraded(original) else { return nil }
        return RequestTemplate(try template(description.with(url: url.string)), upgradedFrom: original)
    }

    /// True if a template that was made before is what a new one would be.
    func isCurrent(_ template: RequestTemplate) -> Bool {
        guard let hsts = configuration.hsts else { return true }
        let url = template.upgradedFrom ?? template.url
        return url.scheme != "http" || hsts.isSecure(url.host) == (template.upgradedFrom != nil)
    }
}

extension RunCore {
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
        guard let hsts = session.configuration.hsts, exchange.url.scheme == "https" else { return }
        // With any certificate accepted, anybody may be speaking (RFC 6797 section 8.1).
        let tls = session.configuration.tls
        guard !tls.dangerouslyAcceptsAnyCertificate, !tls.dangerouslyAcceptsAnyHostName else { return }
        let fields = head.withFields { $0.values(of: "strict-transport-security") }
        if let first = fields.first { hsts.receive(first, from: exchange.url.host) }
    }

    /// - Throws: ``NetworkError`` with code `insecureConnection` where a redirect leads to a host with pins over `http`.
    func checkTrust(_ target: RequestURL) throws(NetworkError) {
        do throws(NetworkError) { try session.link.checkTrust(target) } catch {
            var error = error
            error.runID = id
            error.attempt = exchange.attempt
            throw error
        }
    }
}
