import Foundation

@testable import ScopedNet

/// An interceptor that is a closure.
struct Intercepting: Interceptor {
    typealias Body =
        @Sendable (InterceptedRequest, InterceptedRequest.Context, InterceptedRequest.Next) async throws -> InterceptedResponse
    let body: Body

    init(_ body: @escaping Body) { self.body = body }

    func intercept(
        _ request: InterceptedRequest, context: InterceptedRequest.Context, next: InterceptedRequest.Next
    ) async throws -> InterceptedResponse { try await body(request, context, next) }

    /// Sets a field and passes everything on.
    static func setting(_ name: String, _ value: String, log: Gathered<String>? = nil) -> Intercepting {
        Intercepting { request, context, next in
            var request = request
            request.headers[.init(name)] = value
            log?.add("\(value) out")
            let response = try await next(request)
            log?.add("\(value) back \(response.head.status)")
            return response
        }
    }
}
