import HTTPTypes

/// The layers of a request's header fields: the session's, the request's own, those of its body, and what is sent where neither sets a field.
/// (pure)
struct HeaderLayers: Sendable {
    /// The session's fields.
    let defaults: HeaderFields

    /// Returns the session's fields, overridden by the request's.
    func fields(_ own: HTTPFields, compressed: Bool) throws(NetworkError) -> HTTPFields {
        if let refusal = defaults.refusal(besides: own) { throw refusal }
        var fields = defaults.fields
        // In the caller's order: some servers, and every test that compares bytes, see it.
        var seen: Set<HTTPField.Name> = []
        for name in own.map(\.name) where seen.insert(name).inserted { fields[fields: name] = own[fields: name] }
        if fields[.acceptEncoding] == nil {
            // A part of coded bytes cannot be decoded, so a range is asked for as it is, as Fetch does.
            let isCoded = compressed && !fields.contains(.range)
            fields[.acceptEncoding] = isCoded ? ContentDecoder.acceptEncodingValue : "identity"
        }
        if fields[.userAgent] == nil { fields[.userAgent] = Session.Configuration.defaultUserAgent }
        return fields
    }

    /// Returns the request's fields with the media type that is wanted, unless the caller or the session names one.
    func accepting(_ type: String?, _ own: HTTPFields) -> HTTPFields {
        guard let type, own[.accept] == nil, defaults[.accept] == nil else { return own }
        var fields = own
        fields[.accept] = type
        return fields
    }

    /// Returns the fields with the type of the body, where nobody has said it, and its coding.
    static func typed(_ fields: HTTPFields, _ body: RequestBody?) throws(NetworkError) -> HTTPFields {
        guard let body else { return fields }
        var fields = fields
        if let type = body.contentType, body.isMultipart || fields[.contentType] == nil { fields[.contentType] = type }
        if let coding = body.contentEncoding {
            guard fields[.contentEncoding] == nil else { throw .codedTwice }
            fields[.contentEncoding] = coding
        }
        return fields
    }

    /// Makes what libcurl sends of the fields, without those that it would add by itself.
    static func block(_ fields: HTTPFields, method: HTTPRequest.Method, body: RequestBody?) throws(NetworkError) -> HeaderBlock {
        try checkFraming(fields, body)
        var suppressed: [String] = []
        // libcurl would claim a form, also for a POST without a body, and wait a second for a 100 that many servers never send.
        if body != nil || method.meansBody, fields[.contentType] == nil { suppressed.append("Content-Type") }
        if body != nil, fields[.expect] == nil { suppressed.append("Expect") }
        return try HeaderBlock(fields, suppressing: suppressed)
    }

    /// The end of a body is the transport's to say.
    private static func checkFraming(_ fields: HTTPFields, _ body: RequestBody?) throws(NetworkError) {
        guard fields[.transferEncoding] == nil else {
            throw NetworkError(.invalidHeader, phase: .preparing, message: "'Transfer-Encoding' is set by the transport")
        }
        try DeclaredLength.check(fields, body)
    }
}

extension NetworkError {
    fileprivate static let codedTwice = NetworkError(
        .invalidHeader, phase: .preparing, message: "'Content-Encoding' is set by a body that is compressed; leave it out")
}
