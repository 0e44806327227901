import Synchronization
import SystemSupport

/// The counts behind ``Session/statistics``: atomic words, which any thread adds to. Errors are rare and have a lock.
final class StatisticsCounter: Sendable {
    private let started = Atomic<Int>(0)
    private let succeeded = Atomic<Int>(0)
    private let failed = Atomic<Int>(0)
    private let cancelled = Atomic<Int>(0)
    private let transfers = Atomic<Int>(0)
    private let retries = Atomic<Int>(0)
    private let bytesSent = Atomic<Int64>(0)
    private let bytesReceived = Atomic<Int64>(0)
    private let cacheHits = Atomic<Int>(0)
    private let cacheValidations = Atomic<Int>(0)
    private let cacheMisses = Atomic<Int>(0)
    private let durations = LogHistogram()
    private let errors = Lock<[NetworkError.Code: Int]>([:])

    func start() { started.add(1, ordering: .relaxed) }

    /// A run ended by itself.
    func end(_ error: NetworkError.Code?, nanoseconds: UInt64) {
        durations.add(nanoseconds: nanoseconds)
        guard let error else {
            succeeded.add(1, ordering: .releasing)
            return
        }
        errors.withLock { $0[error, default: 0] += 1 }
        failed.add(1, ordering: .releasing)
    }

    func cancel() { cancelled.add(1, ordering: .releasing) }

    func retry() { retries.add(1, ordering: .relaxed) }

    func transfer(_ metrics: TransferMetrics) {
        transfers.add(1, ordering: .relaxed)
        bytesSent.add(Int64(metrics.requestBytes) &+ metrics.bodyBytesSent, ordering: .relaxed)
        bytesReceived.add(Int64(metrics.headerBytesReceived) &+ metrics.bodyBytesReceived, ordering: .relaxed)
    }

    func cache(_ use: ResponseCache.Use) {
        switch use {
        case .hit: cacheHits.add(1, ordering: .relaxed)
        case .validation: cacheValidations.add(1, ordering: .relaxed)
        case .miss: cacheMisses.add(1, ordering: .relaxed)
        }
    }

    var snapshot: Session.Statistics {
        // Ends before starts: no more can have ended than have begun.
        let ends = (
            succeeded.load(ordering: .acquiring), failed.load(ordering: .acquiring), cancelled.load(ordering: .acquiring)
        )
        return Session.Statistics(
            started: started.load(ordering: .relaxed), succeeded: ends.0, failed: ends.1, cancelled: ends.2,
            errors: errors.withLock { $0 }, transfers: transfers.load(ordering: .relaxed), retries: retries.load(ordering: .relaxed),
            bytesSent: bytesSent.load(ordering: .relaxed), bytesReceived: bytesReceived.load(ordering: .relaxed),
            cacheHits: cacheHits.load(ordering: .relaxed), cacheValidations: cacheValidations.load(ordering: .relaxed),
            cacheMisses: cacheMisses.load(ordering: .relaxed), durations: Session.Statistics.Durations(cells: durations.counts))
    }
}

extension ResponseCache {
    /// The part a cache had in an exchange.
    enum Use: Sendable {
        case hit, validation, miss
    }
}
