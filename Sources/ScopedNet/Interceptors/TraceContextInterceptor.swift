import HTTPTypes

/// Sends a `traceparent` field with each exchange, so that the logs of servers can be joined with those of the program (W3C Trace Context).
///
/// ```swift
/// let session = session.with { $0.options.interceptors.exchange.append(TraceContextInterceptor()) }
/// ```
///
/// All exchanges of a run belong to one trace, and each has a span of its own. A request that has the field already, from whoever it is made for, goes on
/// with that trace; without a valid one a new trace begins, and a `tracestate` is taken away, as it belongs to another (section 4.3). It needs no tracing backend, and
/// records nothing: for spans use `TracingInterceptor` of ScopedNetTracing in its place.
public struct TraceContextInterceptor: Interceptor {
    private let begin: @Sendable (InterceptedRequest.Context) -> TraceContext

    /// Makes an interceptor.
    ///
    /// - Parameter trace: begins a trace for a run whose request has none; called once a run. Default: a random one, sampled.
    public init(trace: @escaping @Sendable (InterceptedRequest.Context) -> TraceContext = { _ in TraceContext() }) { begin = trace }

    /// Sets the field and calls `next`.
    public func intercept(
        _ request: InterceptedRequest, context: InterceptedRequest.Context, next: InterceptedRequest.Next
    ) async throws -> InterceptedResponse {
        var request = request
        let trace = trace(of: &request, context)
        request.headers["traceparent"] = trace.description
        return try await next(request)
    }

    private func trace(of request: inout InterceptedRequest, _ context: InterceptedRequest.Context) -> TraceContext {
        if let trace = context.values[TraceContext.self] { return trace.child() }
        if let text = request.headers["traceparent"], let trace = TraceContext(text) {
            context.values[TraceContext.self] = trace
            return trace.child()
        }
        request.headers["tracestate"] = nil
        let trace = begin(context)
        context.values[TraceContext.self] = trace
        return trace
    }
}
