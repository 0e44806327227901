import HTTPTypes

/// The request as the caller describes it, before it is checked. Immutable: copying it costs two references, and changing its options does not
/// describe it anew.
package struct RequestDescription: Sendable {
    /// All but the options.
    private final class Details: Sendable {
        let url: String
        let method: HTTPRequest.Method
        let headers: HTTPFields
        let body: RequestBody?
        let destination: String?
        /// A mistake that was made when the request was described, other than in a header field.
        let mistake: NetworkError?
        /// The fields that were refused when they were set; no others.
        let refused: HeaderFields

        init(
            _ url: String, _ method: HTTPRequest.Method, _ headers: HTTPFields, _ body: RequestBody?, _ destination: String?,
            _ mistake: NetworkError?, _ refused: HeaderFields
        ) {
            self.url = url
            self.method = method
            self.headers = headers
            self.body = body
            self.destination = destination
            self.mistake = mistake
            self.refused = refused
        }
    }

    private let details: Details
    let options: OptionsBox

    var url: String { details.url }
    var method: HTTPRequest.Method { details.method }
    var headers: HTTPFields { details.headers }
    var body: RequestBody? { details.body }
    var destination: String? { details.destination }
    /// The next start fails with it.
    var failure: NetworkError? { details.mistake ?? details.refused.refusal }

    init(
        url: String, method: HTTPRequest.Method, headers: HTTPFields, body: RequestBody?, options: OptionsBox, destination: String?,
        mistake: NetworkError? = nil, refused: HeaderFields = [:]
    ) {
        self.init(Details(url, method, headers, body, destination, mistake, refused), options)
    }

    private init(_ details: Details, _ options: OptionsBox) { (self.details, self.options) = (details, options) }

    /// True for the same one, not for one that is equal.
    func isSame(as other: RequestDescription) -> Bool { details === other.details && options === other.options }

    /// Checks what does not depend on the session.
    func check() throws(NetworkError) {
        let options = options.value
        if let clock = options.timeouts.invalidClock {
            throw NetworkError(
                .invalidOption, phase: .preparing, message: "the \(clock) timeout must be positive; use nil to switch it off")
        }
        // Its success has no body and no end, whatever its fields say (RFC 9110 section 9.3.6).
        guard method != .connect else { throw .tunnel }
        if let destination {
            guard !destination.isEmpty else {
                throw NetworkError(.invalidOption, phase: .preparing, message: "the destination of a download must be a file URL")
            }
            guard !destination.utf8.contains(0) else { throw .nulInPath(destination, .fileUnwritable) }
        }
        try options.checkLimits()
    }

    /// With its body in bytes, where that is a JSON value that waits for the session's coding.
    func resolved(with coding: JSONCoding) -> RequestDescription {
        guard let body, body.isDeferred else { return self }
        return RequestDescription(
            url: url, method: method, headers: headers, body: body.resolved(with: coding), options: options, destination: destination,
            mistake: details.mistake, refused: details.refused)
    }

    func with(_ options: RequestOptions) -> RequestDescription { RequestDescription(details, OptionsBox(options)) }

    func with(url: String) -> RequestDescription {
        RequestDescription(
            url: url, method: method, headers: headers, body: body, options: options, destination: destination, mistake: details.mistake,
            refused: details.refused)
    }

    /// With a header field; what was refused of its name before counts no more.
    func with(_ name: String, _ value: String) -> RequestDescription {
        var (headers, refused) = (headers, details.refused)
        refused[HeaderFields.Name(name)] = value
        if let field = refused.fields.first { headers[field.name] = field.value }
        return RequestDescription(
            url: url, method: method, headers: headers, body: body, options: options, destination: destination,
            mistake: details.mistake, refused: refused.mistakes)
    }

    func with(_ error: NetworkError) -> RequestDescription {
        RequestDescription(
            url: url, method: method, headers: headers, body: body, options: options, destination: destination,
            mistake: details.mistake ?? error,
            refused: details.refused)
    }
}

/// Options by reference; the session's defaults are shared by all requests that leave them as they are.
package final class OptionsBox: Sendable {
    let value: RequestOptions
    init(_ value: RequestOptions) { self.value = value }
}
