import HTTPTypes
public import Logging

/// Writes two lines for each request: how it goes out, as a `curl` command, and what came back.
///
/// ```swift
/// let logged = session.with { $0.options.interceptors.exchange.append(LoggingInterceptor(logger)) }
/// ```
///
/// Around each exchange these are the requests as servers get them, redirects and attempts each for themselves; put behind a signer it shows the
/// signature's place. Around the call it is one pair for each run, whether the network was asked or not.
///
/// Bodies appear by size and type alone. Secrets are masked: credentials, cookies, and the values of fields and query items whose names look like one
/// (`token`, `key`, `password`, `secret`, `signature`, `credential`). The text of an error that is not the library's is written as it is. What comes back is at the same level; an error is at `notice`, a cancel at `debug`.
/// Beside the message everything is metadata. A logger whose level is higher costs no formatting.
///
/// ``LoggingObserver`` writes one line for each run, and its decisions.
public struct LoggingInterceptor: Interceptor {
    private let logger: Logger
    private let level: Logger.Level
    private let mask = SecretMask()

    /// Makes an interceptor for a logger. Default level: `debug`.
    public init(_ logger: Logger, level: Logger.Level = .debug) {
        self.logger = logger
        self.level = level
    }

    /// Writes the request, calls `next`, and writes the response or the error, which it hands on unchanged.
    public func intercept(
        _ request: InterceptedRequest, context: InterceptedRequest.Context, next: InterceptedRequest.Next
    ) async throws -> InterceptedResponse {
        logger.log(level: level, "request", metadata: metadata(context, ["curl": "\(command(request))"]))
        let start = ContinuousClock.now
        var seconds: Logger.MetadataValue { "\(start.duration(to: .now) / .seconds(1))" }
        do {
            let response = try await next(request)
            logger.log(level: level, "response", metadata: metadata(context, describe(response).merging(["seconds": seconds]) { $1 }))
            return response
        } catch {
            let isCancelled = error is CancellationError || (error as? NetworkError)?.isCancelled == true
            logger.log(
                level: isCancelled ? .debug : .notice, isCancelled ? "request cancelled" : "request failed",
                metadata: metadata(context, ["error": "\(error)", "seconds": seconds]))
            throw error
        }
    }

    private func metadata(_ context: InterceptedRequest.Context, _ more: Logger.Metadata) -> Logger.Metadata {
        var metadata = more
        metadata["request"] = "\(context.runID)"
        if context.place == .exchange { metadata["attempt"] = "\(context.attempt)" }
        if context.redirects > 0 { metadata["redirects"] = "\(context.redirects)" }
        metadata["tag"] = context.tag.map { "\($0)" }
        return metadata
    }

    private func command(_ request: InterceptedRequest) -> CURLCommand {
        var fields = request.headers.fields
        // curl takes the length of the body, and would send this one beside it.
        fields[.contentLength] = nil
        let body = request.body.map { CURLCommand.Body.hidden(HumanText.body($0.length, $0.contentType ?? fields[.contentType])) }
        return CURLCommand(method: request.method.rawValue, url: request.url, fields: fields, body: body ?? .none, mask: mask)
    }

    private func describe(_ response: InterceptedResponse) -> Logger.Metadata {
        let length: Int64? =
            switch response.body {
            case .data(let data): Int64(data.count)
            case .file(let bytes): bytes
            case .stream: nil
            }
        var metadata: Logger.Metadata = ["status": "\(response.head.status)", "source": "\(response.source)"]
        metadata["body"] = "\(HumanText.body(length, response.head.headers[.contentType]))"
        if let metrics = response.metrics { metadata["metrics"] = "\(metrics)" }
        return metadata
    }
}

extension HumanText {
    /// A body by size and type: `1.2 KiB of text/html`.
    fileprivate static func body(_ length: Int64?, _ type: String?) -> String {
        guard length != 0 else { return "empty" }
        let size = length.map { bytes($0) } ?? "a stream"
        return type.map { "\(size) of \($0)" } ?? size
    }
}
