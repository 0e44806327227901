#if Metrics
import HTTPTypes
public import Metrics
public import ScopedNet

/// Counts and times requests by OpenTelemetry's conventions for HTTP clients, with swift-metrics.
///
/// ```swift
/// var configuration = Session.Configuration()
/// configuration.options.interceptors.addMetrics()
/// ```
///
/// | name | kind | of each | unit |
/// |---|---|---|---|
/// | `http.client.request.duration` | timer | exchange | nanoseconds, as swift-metrics has it |
/// | `http.client.active_requests` | meter | exchange, from its queue to its response | exchanges |
/// | `http.client.request.body.size` | recorder | exchange | bytes over the wire |
/// | `http.client.response.body.size` | recorder | exchange | bytes over the wire |
/// | `scopednet.client.run.duration` | timer | run | nanoseconds |
/// | `scopednet.client.runs` | counter | run | runs |
///
/// Dimensions are `http.request.method`, `server.address`, `server.port`, `url.scheme`, and, once it is over, `http.response.status_code`,
/// `network.protocol.version` and `error.type`: the status from 400 on, the code of the ``NetworkError``, or the type of another error. Runs have
/// `scopednet.source` besides: `network`, `cache`, `validatedCache` or `interceptor`. One that is not known is empty, so that each metric has the same
/// names every time. Paths and queries are in none of them.
///
/// The duration of an exchange is that of the transfer, where one came to a response; of one that failed, from its place in the queue to its error.
public struct MetricsInterceptor: Interceptor {
    private let chosen: (any MetricsFactory)?
    private var factory: any MetricsFactory { chosen ?? MetricsSystem.factory }

    /// Makes an interceptor. Without a factory it asks for that of the `MetricsSystem` at each request.
    public init(factory: (any MetricsFactory)? = nil) { chosen = factory }

    /// Calls `next` and records what it took.
    public func intercept(
        _ request: InterceptedRequest, context: InterceptedRequest.Context, next: InterceptedRequest.Next
    ) async throws -> InterceptedResponse {
        let start = ContinuousClock.now
        var dimensions = Dimensions(request)
        let active =
            context.place == .exchange ? Meter(label: "http.client.active_requests", dimensions: dimensions.begun, factory: factory) : nil
        active?.increment()
        defer { active?.decrement() }
        do {
            let response = try await next(request)
            dimensions.note(response)
            record(response, context.place, dimensions.ended(context.place), start.duration(to: .now))
            return response
        } catch {
            dimensions.note(error)
            record(context.place, dimensions.ended(context.place), start.duration(to: .now))
            throw error
        }
    }

    private func record(
        _ response: InterceptedResponse, _ place: InterceptedRequest.Context.Place, _ dimensions: [(String, String)], _ elapsed: Duration
    ) {
        guard place == .exchange, let metrics = response.metrics else { return record(place, dimensions, elapsed) }
        record(place, dimensions, metrics.total)
        Recorder(label: "http.client.request.body.size", dimensions: dimensions, aggregate: true, factory: factory)
            .record(metrics.bodyBytesSent)
        Recorder(label: "http.client.response.body.size", dimensions: dimensions, aggregate: true, factory: factory)
            .record(metrics.bodyBytesReceived)
    }

    private func record(_ place: InterceptedRequest.Context.Place, _ dimensions: [(String, String)], _ duration: Duration) {
        let label = place == .call ? "scopednet.client.run.duration" : "http.client.request.duration"
        Timer(label: label, dimensions: dimensions, factory: factory).record(duration: duration)
        guard place == .call else { return }
        Counter(label: "scopednet.client.runs", dimensions: dimensions, factory: factory).increment()
    }
}

extension RequestOptions.Interceptors {
    /// Puts a ``MetricsInterceptor`` around the call, where it sees all other interceptors, and around each exchange, behind those that are there.
    public mutating func addMetrics(factory: (any MetricsFactory)? = nil) {
        let interceptor = MetricsInterceptor(factory: factory)
        call.insert(interceptor, at: 0)
        exchange.append(interceptor)
    }
}
#endif
