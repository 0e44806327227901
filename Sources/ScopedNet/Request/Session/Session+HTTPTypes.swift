public import FoundationEssentials
public import HTTPTypes

/// The ecosystem's own types (swift-http-types), in and out, without loss: fields keep their order, their spelling and how often they come.
extension Session {
    /// Makes the request that `request` describes.
    ///
    /// Scheme and authority may be missing: the path is resolved against the session's base URL then. What has no meaning here (CONNECT, the
    /// asterisk-form of OPTIONS, a fragment in the path) is the failure of the start: `invalidOption` or `invalidURL`.
    public func request<Value: Decodable & Sendable>(
        _ request: HTTPRequest, body: RequestBody? = nil, as type: Value.Type = Data.self, fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Value> {
        self.request(request, body: body, decoder: .reading(type), fileID: fileID, line: line)
    }

    /// Makes the request that `request` describes; what is answered does not matter.
    public func request(
        _ request: HTTPRequest, body: RequestBody? = nil, as type: Void.Type, fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Void> {
        self.request(request, body: body, decoder: .discarding, fileID: fileID, line: line)
    }

    /// Makes the request that `request` describes; the value is what `decoder` makes of the response.
    public func request<Value: Sendable>(
        _ request: HTTPRequest, body: RequestBody? = nil, decoder: ResponseDecoder<Value>, fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Value> {
        let target = RequestTarget(request)
        return make(
            request.method, target.url, [:], HeaderFields(request.headerFields), body, decoder, CodeOrigin(fileID, line),
            failure: target.failure)
    }
}

extension Request {
    /// What is asked for, with the URL resolved and percent-encoded as it will be sent, and the request's own fields; those of the session, of its
    /// cookie jar and of its cache come to them when it is sent.
    ///
    /// - Throws: ``NetworkError``, as the start would fail: a URL that cannot be resolved, a field with a line end.
    public func httpRequest() throws(NetworkError) -> HTTPRequest {
        let description = currentDescription
        if let error = description.failure { throw error }
        let url = try session.url(description.url)
        return HTTPRequest(
            method: description.method, scheme: url.scheme, authority: url.authority, path: url.target, headerFields: description.headers)
    }
}

extension ResponseHead {
    /// The head as swift-http-types has it, fields in their order.
    public var httpResponse: HTTPResponse {
        HTTPResponse(status: HTTPResponse.Status(code: status, reasonPhrase: reasonPhrase), headerFields: headers)
    }
}

/// Where an `HTTPRequest` goes, as a URL or a reference to resolve against the base (RFC 9112 section 3.2). (pure)
struct RequestTarget: Equatable {
    private(set) var url = ""
    private(set) var failure: NetworkError?

    init(_ request: HTTPRequest) {
        let path = request.path ?? ""
        if request.method == .connect || request.extendedConnectProtocol != nil {
            failure = .tunnel
        } else if path == "*" {
            failure = .unusableTarget(.invalidOption, "the asterisk-form of the request target is not supported")
        } else if path.utf8.contains(UInt8(ascii: "#")) {
            failure = .unusableTarget(.invalidURL, "a fragment is no part of a request's path")
        } else if let authority = request.authority {
            // A base URL lends its scheme, as for a reference that begins with two slashes (RFC 3986 section 4.2).
            // By byte: a slash with an accent behind it is another `Character`.
            let isAbsolute = path.isEmpty || path.utf8.first == UInt8(ascii: "/")
            url = (request.scheme.map { "\($0):" } ?? "") + "//\(authority)" + (isAbsolute ? path : "/\(path)")
        } else if path.utf8.starts(with: "//".utf8) {
            // Of an HTTP request it is a path; of a reference it would be a host.
            url = "/." + path
        } else {
            url = path
        }
    }

    static func == (left: RequestTarget, right: RequestTarget) -> Bool {
        left.url == right.url && left.failure?.code == right.failure?.code
    }
}

extension NetworkError {
    static var tunnel: NetworkError {
        unusableTarget(.invalidOption, "a CONNECT is not sent as a request; proxies are a setting of the session")
    }

    fileprivate static func unusableTarget(_ code: Code, _ message: String) -> NetworkError {
        NetworkError(code, phase: .preparing, message: message)
    }
}

extension RequestURL {
    /// Host and port as the `Host` field has them: without the port that the scheme has anyway, and without credentials (RFC 9110 section 7.2).
    package var authority: String {
        port == (scheme == "https" ? 443 : 80) ? host : "\(host):\(port)"
    }
}
