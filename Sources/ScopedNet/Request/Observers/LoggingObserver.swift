public import Logging

/// Writes one line per run to a logger: when it ends, at `debug`; failures at `notice`. Decisions about retries and challenges are lines
/// at `info`, decisions of the cache at `debug`, reports of pins and warnings of the session at `warning`, requests that were made ready and
/// never started at `debug`, and all other events at `trace`. A session without one is silent.
///
/// ```swift
/// let logged = session.with { $0.observers.append(LoggingObserver(logger)) }
/// ```
///
/// Messages are static, everything else is metadata; header values, bodies and userinfo never appear, and query values are masked.
public struct LoggingObserver: RequestObserver {
    private let logger: Logger
    private let mask = SecretMask()

    /// Makes an observer for a logger; the logger's own level decides which messages are written.
    public init(_ logger: Logger) { self.logger = logger }

    /// Writes the warning to the logger, at `warning`; that of a request which was never started, at `debug`.
    public func observe(_ warning: SessionWarning) {
        logger.log(level: warning.isMinor ? .debug : .warning, "probably not meant", metadata: ["warning": "\(warning)"])
    }

    /// Writes the event to the logger, at the level of its kind.
    public func observe(_ event: RequestEvent) {
        switch event.kind {
        case .finished(let completion):
            var metadata = metadata(event.run)
            metadata["status"] = completion.response.map { "\($0.status)" }
            metadata["bytes"] = "\(completion.metrics.reduce(0) { $0 + $1.bodyBytesReceived })"
            metadata["attempts"] = "\(completion.metrics.count)"
            metadata["seconds"] = "\(completion.duration / .seconds(1))"
            if let error = completion.error {
                metadata["error"] = "\(error)"
                logger.notice("request failed", metadata: metadata)
            } else {
                logger.debug("request succeeded", metadata: metadata)
            }
        case .cancelled(let reason):
            var metadata = metadata(event.run)
            metadata["reason"] = "\(reason)"
            logger.debug("request cancelled", metadata: metadata)
        case .retryDecided(let reason, let after):
            var metadata = metadata(event.run)
            metadata["reason"] = "\(reason)"
            metadata["after"] = after.map { "\($0)" } ?? "never"
            logger.info("retry decided", metadata: metadata)
        case .challenged(let space, let status, let answer):
            var metadata = metadata(event.run)
            metadata["status"] = "\(status)"
            metadata["space"] = "\(space)"
            metadata["answer"] = "\(answer ?? "none")"
            logger.info("challenged", metadata: metadata)
        case .upgraded(_, let to):
            var metadata = metadata(event.run)
            metadata["to"] = "\(mask.maskedURL(to))"
            logger.debug("upgraded to https", metadata: metadata)
        case .cacheDecided(let status):
            var metadata = metadata(event.run)
            metadata["cache"] = "\(status)"
            logger.debug("cache decided", metadata: metadata)
        case .trustReported(let failure) where failure.isReportOnly:
            var metadata = metadata(event.run)
            metadata["reason"] = "\(failure)"
            logger.warning("trust reported", metadata: metadata)
        case .sent, .received: break
        default:
            guard logger.logLevel <= .trace else { return }
            var metadata = metadata(event.run)
            metadata["event"] = "\(Self.name(event.kind))"
            logger.trace("request event", metadata: metadata)
        }
    }

    private func metadata(_ run: Run.Info) -> Logger.Metadata {
        ["request": "\(run.id)", "method": "\(run.method)", "url": "\(mask.maskedURL(run.url))"]
    }

    /// The case's name without its payload, which may hold field values.
    private static func name(_ kind: RequestEvent.Kind) -> String {
        let mirror = Mirror(reflecting: kind)
        return mirror.children.first?.label ?? "\(kind)"
    }
}
