extension CacheForward {
    /// What is done when no response came: the server could not be reached, or closed the connection before the head of a response.
    ///
    /// Not for a request that was cancelled, nor for a server that is not who it should be (a certificate that does not hold).
    package func failed(now: WallTime) -> CacheFailureOutcome {
        guard let selected, !isBeside else { return .fail }
        let lookup = lookup(now: now)
        switch AfterFailure.decide(.noResponse, stored: candidates[selected], lookup) {
        case .pass: return .fail
        case .serveStale:
            let status = ResponseCache.Status(
                forward: reason, timeToLive: lookup.freshness(candidates[selected]).wholeSecondsLeft, detail: "stale, as no response came")
            return .stored(lookup.answer(selected, isStale: true, status: status))
        case .unavailable:
            let status = ResponseCache.Status(forward: reason, detail: "what is stored must be validated first")
            return .unavailable(.gatewayTimeout(now: now), status)
        }
    }

    /// A stored response in place of an error of the server, or nil when the error is the answer.
    func staleIsBetter(_ reply: ServerReply) -> CacheOutcome? {
        guard let selected, AfterFailure.errors.contains(reply.head.status) else { return nil }
        let lookup = lookup(now: reply.responseTime)
        guard AfterFailure.decide(.status(reply.head.status), stored: candidates[selected], lookup) == .serveStale else { return nil }
        var status = status(reply)
        status.timeToLive = lookup.freshness(candidates[selected]).wholeSecondsLeft
        status.detail = "stale, as the server answered \(reply.head.status)"
        // An error must not take the place of what is better than it.
        let answer = isBeside ? CacheOutcome.Answer.received : .stored(lookup.answer(selected, isStale: true, status: status))
        return CacheOutcome(answer: answer, storage: .refuse(.staleIsBetter), status: status)
    }
}
