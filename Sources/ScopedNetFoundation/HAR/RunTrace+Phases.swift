import ScopedNet

extension RunTrace.Exchange {
    /// Where the time of an exchange went. The parts add up to its whole time.
    public struct Phases: Sendable, Hashable {
        /// Waiting for a slot, before anything was sent.
        public var queued = Duration.zero
        /// Resolving the name.
        public var nameLookup = Duration.zero
        /// Connecting, by TCP and through a proxy.
        public var connect = Duration.zero
        /// The TLS handshake.
        public var tls = Duration.zero
        /// Sending the request, to the last byte of its body.
        public var send = Duration.zero
        /// From the last byte of the request to the first of the response.
        public var wait = Duration.zero
        /// From the first byte of the response to the last.
        public var receive = Duration.zero
        /// The connection was there already.
        public var isReused = false

        /// All phases added up.
        public var total: Duration { queued + nameLookup + connect + tls + send + wait + receive }
    }

    /// Computes the phases; `now` is the end of an exchange that is still going on.
    public func phases(now: ContinuousClock.Instant) -> Phases {
        var phases = Phases()
        guard let metrics else {
            phases.queued = max(.zero, submitted.duration(to: started))
            phases.wait = max(.zero, started.duration(to: now))
            return phases
        }
        phases.queued = max(.zero, submitted.duration(to: metrics.started))
        phases.isReused = metrics.isConnectionReused
        // libcurl's timers count up from the start of the attempt; one that was never reached is zero. Whatever was under way when the
        // exchange ended gets the rest.
        var clock = PhaseClock(total: metrics.total)
        let isSecure = url.hasPrefix("https:")
        if !metrics.isConnectionReused {
            phases.nameLookup = clock.advance(to: metrics.nameLookup)
            phases.connect = clock.advance(to: metrics.connect)
            if isSecure { phases.tls = clock.advance(to: metrics.secured) }
        }
        phases.send = clock.advance(to: sendEnd(metrics))
        phases.wait = clock.advance(to: metrics.firstByte)
        phases.receive = clock.rest
        return phases
    }

    /// libcurl says when the request began to go out; with a body, the last progress says when it was out.
    private func sendEnd(_ metrics: TransferMetrics) -> Duration {
        guard metrics.requestSent > .zero, metrics.bodyBytesSent > 0, let lastSent else { return metrics.requestSent }
        let latest = metrics.firstByte > .zero ? metrics.firstByte : metrics.total
        return min(latest, max(metrics.requestSent, metrics.started.duration(to: lastSent)))
    }
}

/// Cuts a time into pieces at marks that count from its beginning.
private struct PhaseClock {
    let total: Duration
    private var position = Duration.zero
    private var isStuck = false

    init(total: Duration) { self.total = total }

    var rest: Duration { isStuck ? .zero : max(.zero, total - position) }

    /// The time up to the mark; everything that is left when the mark was never reached.
    mutating func advance(to mark: Duration) -> Duration {
        guard !isStuck else { return .zero }
        guard mark > .zero else {
            defer { isStuck = true }
            return max(.zero, total - position)
        }
        defer { position = max(position, min(mark, total)) }
        return max(.zero, min(mark, total) - position)
    }
}
