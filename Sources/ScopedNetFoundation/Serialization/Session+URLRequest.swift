public import Foundation
public import FoundationNetworking
import HTTPTypes
public import ScopedNet

extension Session {
    /// A request described by Foundation's type; its value is the body.
    ///
    /// Taken over: method, URL (relative ones are resolved against the session's base URL), fields, body or body stream,
    /// `timeoutInterval` as the idle and first-byte clocks where it is not Foundation's default of 60 s, `cachePolicy`, `httpShouldHandleCookies`, and
    /// `networkServiceType` as the priority. What concerns radios (`allowsCellularAccess` and its like) has no meaning on Linux.
    ///
    /// Mistakes (no URL, a method that is no token, a field with a line end) are the failure of the start, never of this call.
    public func request(_ request: URLRequest, fileID: StaticString = #fileID, line: Int = #line) -> Request<Data> {
        self.request(request, decoder: .data, fileID: fileID, line: line)
    }

    /// The same, with a decoder.
    public func request<Value: Sendable>(
        _ request: URLRequest, decoder: ResponseDecoder<Value>, fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Value> {
        let method = HTTPRequest.Method(request.httpMethod ?? "GET")
        let fields = FoundationFields(request.allHTTPHeaderFields ?? [:])
        let made = self.request(
            request.url?.absoluteString ?? "", method: method ?? .get, headers: HeaderFields(fields.fields), body: RequestBody(request),
            decoder: decoder,
            fileID: fileID, line: line)
        if let failure = fields.failure ?? Self.failure(of: request, method: method) { _ = made.refused(with: failure) }
        return made.options { $0.adopt(request) }
    }

    private static func failure(of request: URLRequest, method: HTTPRequest.Method?) -> NetworkError? {
        if request.url == nil { return .unusable(.invalidURL, "the URLRequest has no URL") }
        if method == nil { return .unusable(.invalidOption, "'\(request.httpMethod ?? "")' is no method") }
        return nil
    }
}

extension URLRequest {
    /// The other way: what a request asks for, with the body where that is in memory, and the options that Foundation knows.
    ///
    /// Fields of one name are joined, as Foundation's dictionary wants it.
    ///
    /// - Throws: `NetworkError` as the start of the request would, and `invalidURL` for a URL that Foundation does not take.
    public init<Value: Sendable>(_ request: Request<Value>) throws(NetworkError) {
        let described = try request.httpRequest()
        guard let url = described.url else { throw .unusable(.invalidURL, "Foundation does not take the URL of the request") }
        self.init(url: url)
        httpMethod = described.method.rawValue
        for field in described.headerFields { addValue(field.value, forHTTPHeaderField: field.name.rawName) }
        if case .data(let data) = request.currentBody?.content { httpBody = data }
        let options = request.currentOptions
        httpShouldHandleCookies = options.handlesCookies
        if let idle = options.timeouts.idle { timeoutInterval = idle / .seconds(1) }
        cachePolicy = CachePolicy(options.cache)
    }
}

/// Foundation's fields, checked. (pure)
private struct FoundationFields {
    private(set) var fields: HTTPFields = [:]
    private(set) var failure: NetworkError?

    init(_ dictionary: [String: String]) {
        // A dictionary has no order; by name, so that it is at least always the same.
        for (name, value) in dictionary.sorted(by: { $0.key < $1.key }) {
            do throws(NetworkError) { fields.append(try HeaderField.checked(name, value)) } catch { failure = failure ?? error }
        }
    }
}

extension RequestOptions {
    fileprivate mutating func adopt(_ request: URLRequest) {
        handlesCookies = request.httpShouldHandleCookies
        // Its default cannot be told from a wish for the same.
        if request.timeoutInterval != 60, request.timeoutInterval.isFinite {
            let limit = Duration.seconds(request.timeoutInterval)
            timeouts.firstByte = limit
            timeouts.idle = limit
        }
        switch request.cachePolicy {
        case .useProtocolCachePolicy: break
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: cache.read = .none
        case .returnCacheDataElseLoad:
            cache.read = .validOrNetwork
            cache.timeToLive = .seconds(100 * 365 * 86_400)
        case .returnCacheDataDontLoad: cache.read = .only
        case .reloadRevalidatingCacheData: cache.read = .revalidate
        @unknown default: break
        }
        switch request.networkServiceType {
        case .background: priority = .low
        case .voip, .voice, .video: priority = .high
        default: break
        }
    }
}

extension URLRequest.CachePolicy {
    fileprivate init(_ policy: ScopedNet.CachePolicy) {
        self =
            switch policy.read {
            case .none: .reloadIgnoringLocalCacheData
            case .only: .returnCacheDataDontLoad
            case .revalidate: .reloadRevalidatingCacheData
            case .validOrNetwork, .thenNetwork: .useProtocolCachePolicy
            }
    }
}

extension NetworkError {
    fileprivate static func unusable(_ code: Code, _ message: String) -> NetworkError {
        NetworkError(code, phase: .preparing, message: message)
    }
}
