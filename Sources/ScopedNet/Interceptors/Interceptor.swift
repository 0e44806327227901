/// Sees the requests of a session on their way out and the responses on their way back, and may change, repeat or answer them.
///
/// There are two places, chosen by where it is put (``RequestOptions/interceptors``):
///
/// - around the *call*, once for each run: before the cache is asked, outside of redirects and retries;
/// - around each *exchange* with a server: every attempt, redirect and answer to a challenge, with cookies and credentials in place.
///
/// ```swift
/// struct Tracing: Interceptor {
///     func intercept(
///         _ request: InterceptedRequest, context: InterceptedRequest.Context, next: InterceptedRequest.Next
///     ) async throws -> InterceptedResponse {
///         var request = request
///         request.headers["X-Request-ID"] = "\(context.runID)"
///         return try await next(request)
///     }
/// }
/// ```
///
/// It runs on the concurrency runtime, or on its own actor where it is one; never on the network's thread, under a lock, or from within `start` or
/// `cancel`. The error that it throws fails the run: a ``NetworkError`` as it is, all else as the `underlying` of `interceptorFailed`. Its time
/// is limited by ``Timeouts/interceptor``, not counting the time in `next`, and by ``Timeouts/total``.
///
/// A cancel does not wait. The task is cancelled, `next` throws the error of the cancelled run, and the answer reaches nobody. No interceptor is
/// asked for a run that was cancelled, but for one of a global actor that is on its way there. See <doc:Interceptors>.
public protocol Interceptor: Sendable {
    /// Handles one request: changes it, calls `next`, and returns the response, changed or not.
    ///
    /// Without a call of `next` no server is asked, and the response is validated and decoded as any other is. Called again once it has returned, `next`
    /// sends another exchange. Two calls at once are refused.
    ///
    /// Where ``RetryPolicy/maxAttempts`` of the request is more than 1, each call of `next` behind the first takes from the retry budget of
    /// the host, and is refused once that is spent. Where it is 1, as by default, nothing is taken and none is refused for it: the
    /// interceptor stops by itself, or ``Timeouts/total`` ends it.
    func intercept(
        _ request: InterceptedRequest, context: InterceptedRequest.Context, next: InterceptedRequest.Next
    ) async throws -> InterceptedResponse
}

/// Changes requests in place, for ``Session/onRequest(_:)`` and ``Request/onRequest(_:)``.
struct RequestAdapter: Interceptor {
    let adapt: @Sendable (inout InterceptedRequest) throws -> Void

    func intercept(
        _ request: InterceptedRequest, context: InterceptedRequest.Context, next: InterceptedRequest.Next
    ) async throws -> InterceptedResponse {
        var request = request
        try adapt(&request)
        return try await next(request)
    }
}
