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
