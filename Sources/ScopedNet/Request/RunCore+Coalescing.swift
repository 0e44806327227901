import HTTPTypes
import Synchronization

/// The coalescing of requests with one key: the run that leads, and those that wait for its answer.
extension RunCore {
    func lead(_ cache: ResponseCache, _ key: CacheKey) -> Bool {
        guard cache.coalescer.lead(key, self) else { return false }
        step { $0.lead() }
        return true
    }

    func mayShare(_ inquiry: CacheInquiry) -> Bool { inquiry.mayBeShared && !drive.hasFollowed && !holdsBodies }

    /// Waits for the answer that another run is getting.
    ///
    /// - Returns: false when that has just come or failed.
    func follow(_ transaction: CacheTransaction) -> Bool {
        let (cache, key) = (transaction.cache, transaction.key)
        // The wait is a part of the time it has: whoever goes himself afterwards has what is left.
        beginTotalTime()
        let number = exchangeID.number
        // Once only: who has waited and found nothing goes himself, and does not queue up again.
        drive.hasFollowed = true
        enter(.waiting(number))
        let follows = cache.coalescer.follow(key, id, template.options.priority) { [self] in
            guard takeWait(.waiting(number)) else { return }
            drive.isCollapsed = true
            enterCache()
        }
        guard follows else {
            // All others that had the run have given it up.
            guard leave(.waiting(number), for: .idle) else { return true }
            guard mayGoOn else {
                abandonWork()
                return true
            }
            return false
        }
        let bound = limitFollowing(transaction, number)
        let leaving = AnyCancellable { [id] in
            bound?.cancel()
            cache.coalescer.leave(key, id)
        }
        setWait(leaving, .path, of: number)
        StepDoor.pass(.retryWaiting, id)
        abandonWait(.waiting(number))
        return true
    }

    private func limitFollowing(_ transaction: CacheTransaction, _ number: UInt64) -> (any Cancellable)? {
        let limit = FollowLimit(firstByte: template.options.timeouts.firstByte, total: timeLeft)
        guard let wait = limit.wait else { return nil }
        return session.timing.schedule(after: wait) { [self] in
            transaction.cache.coalescer.leave(transaction.key, id)
            guard takeWait(.waiting(number)) else { return }
            guard case .total = limit else { return enterCacheBlocking(batch: nil) }
            // A stored response may be better than the error.
            drive.cache = transaction
            let message = "the total time of \(template.options.timeouts.total ?? .zero) is over"
            giveUpWaiting(NetworkError(.totalTimeout, phase: .queued, message: message, runID: id, attempt: exchange.attempt))
        }
    }

    /// Others wait for what this run is getting: it goes on for them when its owner has gone.
    /// Any thread.
    var leadsOthers: Bool {
        lifecycle.isLeading && session.configuration.cache?.coalescer.isFollowed(ledBy: id) == true
    }

    /// The answer that others wait for is in the cache, or will not be. Any thread, and at the latest when the run leaves the agent.
    func endLeading() {
        guard lifecycle.isLeading, step({ $0.endLeading() }) == .tellOthers else { return }
        session.configuration.cache?.coalescer.end(ledBy: id)
        followersLevel.store(0, ordering: .sequentiallyConsistent)
    }
}
