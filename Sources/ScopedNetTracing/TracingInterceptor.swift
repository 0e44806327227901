#if Tracing
import HTTPTypes
public import ScopedNet
public import Tracing

/// Records a span for each run and one for each of its exchanges, and sends the trace's identity with each exchange.
///
/// ```swift
/// var configuration = Session.Configuration()
/// configuration.options.interceptors.addTracing()
/// ```
///
/// The span of a run is `internal`: it covers cache, redirects and retries, and its parent is the span in which `start` or `await` was called. Those of
/// exchanges are its children, of kind `client`, with the attributes of OpenTelemetry's conventions for HTTP clients; around the exchange alone all are
/// children of what the first was made in. The tracer writes its fields into each exchange, a `traceparent` where it follows W3C Trace Context.
///
/// Responses from 400 on and errors make the status of a span `error`, with `error.type`: the status, or the code of the ``NetworkError``. A cancelled run
/// has `error.type` `cancelled` and no status; the text of an error that is not the library's is recorded as it is. User name and password of URLs, and values of query items that look like a secret, are masked.
///
/// The time of an exchange's span includes its wait in the queue and for the host's rate. That of a stream lasts to the end of its body.
public struct TracingInterceptor: Interceptor {
    private let chosen: (any Tracer)?
    private var tracer: any Tracer { chosen ?? InstrumentationSystem.tracer }

    /// Makes an interceptor. Without a tracer it asks for that of the `InstrumentationSystem` at each request.
    public init(tracer: (any Tracer)? = nil) { chosen = tracer }

    /// Records a span around `next`.
    public func intercept(
        _ request: InterceptedRequest, context: InterceptedRequest.Context, next: InterceptedRequest.Next
    ) async throws -> InterceptedResponse {
        switch context.place {
        case .call:
            let span = tracer.startAnySpan("HTTP \(request.methodLabel)", ofKind: .internal)
            span.attributes["scopednet.tag"] = context.tag
            context.values[RunSpan.self] = RunSpan(context: span.context)
            return try await record(span, request, next)
        case .exchange:
            let known = context.values[RunSpan.self] ?? RunSpan(context: ServiceContext.current ?? .topLevel)
            let name = request.methodLabel == "_OTHER" ? "HTTP" : request.methodLabel
            let span = tracer.startAnySpan(name, context: known.context, ofKind: .client)
            // Redirects, retries and answers to challenges alike.
            if known.exchanges > 0 { span.attributes["http.request.resend_count"] = known.exchanges }
            context.values[RunSpan.self] = RunSpan(context: known.context, exchanges: known.exchanges + 1)
            var request = request
            tracer.inject(span.context, into: &request.headers, using: FieldInjector())
            return try await record(span, request, next)
        }
    }

    private func record(
        _ span: any Span, _ request: InterceptedRequest, _ next: InterceptedRequest.Next
    ) async throws -> InterceptedResponse {
        defer { span.end() }
        span.describe(request)
        do {
            let response = try await ServiceContext.withValue(span.context) { try await next(request) }
            span.describe(response)
            return response
        } catch {
            span.describe(error)
            throw error
        }
    }
}

/// The span of a run, or what it was called in, for those of its exchanges.
private struct RunSpan: Sendable {
    let context: ServiceContext
    var exchanges = 0
}

extension RequestOptions.Interceptors {
    /// Puts a ``TracingInterceptor`` around the call, where it sees all other interceptors, and around each exchange, in front of those that are there: a
    /// signer behind it signs the fields that it sets.
    public mutating func addTracing(tracer: (any Tracer)? = nil) {
        let interceptor = TracingInterceptor(tracer: tracer)
        call.insert(interceptor, at: 0)
        exchange.insert(interceptor, at: 0)
    }
}
#endif
