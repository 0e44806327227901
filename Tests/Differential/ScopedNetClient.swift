import Foundation
import HTTPTypes
import ScopedNet

/// The library, as it is without any option: a session for each exchange, with a cookie jar.
struct ScopedNetClient: Client {
    let name = "ScopedNet"

    func perform(_ call: Call) async -> Reply {
        var configuration = Session.Configuration(agent: RequestAgent())
        configuration.proxy = Self.proxy(call.proxy)
        if let authority = call.authority { configuration.tls.certificateAuthority = .pem(authority) }
        configuration.cookies = CookieJar()
        configuration.baseURL = call.base
        configuration.options.validation = .any
        configuration.options.timeouts.total = .seconds(5)
        let session = Session(configuration: configuration)
        do throws(NetworkError) {
            var fields = HTTPFields()
            for field in call.fields {
                guard let name = HTTPField.Name(field.name) else {
                    throw NetworkError(.invalidHeader, phase: .preparing, message: field.name)
                }
                fields.append(HTTPField(name: name, value: field.value))
            }
            guard let method = HTTPRequest.Method(call.method) else {
                throw NetworkError(.invalidOption, phase: .preparing, message: call.method)
            }
            let request = session.request(call.url, method: method, headers: HeaderFields(fields), body: call.body.map { .data($0) })
            let response = try await request.response()
            await session.agent.waitUntilIdle()
            return Reply(
                status: response.status, body: fingerprint(response.body), fields: Self.named(response.head.headers))
        } catch {
            await session.agent.waitUntilIdle()
            return Reply(error: Self.name(of: error), detail: error.description)
        }
    }

    private static func proxy(_ proxy: Call.Proxy?) -> ProxyConfiguration {
        guard let proxy else { return .none }
        let credentials = proxy.user.map {
            ProxyConfiguration.Credentials(user: $0, password: proxy.password, isPreemptive: proxy.scheme == .basic)
        }
        return .explicit(url: proxy.url, credentials: credentials)
    }

    private static func named(_ fields: HTTPFields) -> [String: String] {
        var named: [String: String] = [:]
        for field in fields where field.name.canonicalName.hasPrefix("x-") {
            named[field.name.canonicalName] = named[field.name.canonicalName].map { "\($0), \(field.value)" } ?? field.value
        }
        return named
    }

    private static func name(of error: NetworkError) -> String {
        switch error.code {
        case .invalidURL, .unsupportedScheme: "url"
        case .invalidHeader, .invalidOption: "request"
        case .nameNotResolved, .connectionRefused, .connectionFailed: "connect"
        case .badResponse, .headersTooLarge: "protocol"
        case .truncatedBody: "truncated"
        case .connectionLost: "lost"
        case .proxyFailed: "proxy"
        case .contentDecodingFailed, .decodingBomb: "coding"
        case .tooManyRedirects, .redirectLoop, .redirectRefused: "redirect"
        default: error.isTimeout ? "timeout" : "other"
        }
    }
}
