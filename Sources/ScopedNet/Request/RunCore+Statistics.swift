import SystemSupport

/// The counting of runs. A refresh beside a stored response is no request of the program: only its transfer counts.
extension RunCore {
    func countStart() {
        if !drive.isRefresh { session.counter.start() }
    }

    func countEnd(_ outcome: RunOutcome) {
        guard !drive.isRefresh else { return }
        let code: NetworkError.Code? = if case .failure(let error) = outcome { error.code } else { nil }
        session.counter.end(code, nanoseconds: monotonicNow() &- startedAt)
    }

    func countCancel() {
        if !drive.isRefresh { session.counter.cancel() }
    }

    /// In the cache's own counts and in the session's.
    func count(_ use: ResponseCache.Use, in cache: ResponseCache, savedBytes: Int = 0) {
        session.counter.cache(use)
        cache.count { statistics in
            switch use {
            case .hit: statistics.hits += 1
            case .validation: statistics.validated += 1
            case .miss: statistics.misses += 1
            }
            statistics.bytesSaved += Int64(savedBytes)
        }
    }
}
