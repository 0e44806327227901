import HTTPTypes

/// The authority that a request's own `Host` field names, where that is not the authority of its URL. (pure)
///
/// It is a part of the target URI (RFC 9110 section 7.1): two virtual hosts behind one address have nothing in common. The URL's authority stays
/// a part of the key all the same, so that what one address says in the name of a host is never taken for what the host itself has said.
struct VirtualHost: Sendable, Equatable {
    /// In lower case, without the default port of the scheme.
    let text: String
    /// Nil for a text that is no authority.
    let origin: URLOrigin?

    /// - Returns: nil without such a field, and for one that names the authority of the URL.
    init?(_ fields: HTTPFields, of url: CacheURL) {
        let lines = fields.lines(.hostField)
        guard !lines.isEmpty else { return nil }
        let given = lines.map { String(FieldText.trimmed($0[...])) }.joined(separator: ", ").lowercased()
        let isAuthority = !given.utf8.contains { "@/?#".utf8.contains($0) }
        origin = isAuthority ? URLOrigin("\(url.origin.scheme)://\(given)") : nil
        if origin == url.origin { return nil }
        text = origin?.authority ?? given
    }
}

extension HTTPField.Name {
    /// `HTTPTypes` has an authority in place of it; this library's requests have a URL, and the field where a caller wants another one.
    static let hostField = HTTPField.Name("Host") ?? .via
}

extension URLOrigin {
    /// Host and port, without the scheme's own port.
    var authority: String {
        let isDefault = port == 0 || scheme == "http" && port == 80 || scheme == "https" && port == 443
        return isDefault ? host : "\(host):\(port)"
    }
}
