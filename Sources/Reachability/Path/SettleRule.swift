/// When a change is told (pure): a loss at once; what follows a publication waits for the end of a window that nothing restarts.
struct SettleRule {
    /// How long a path must have been satisfied again before that is told.
    var gain: Duration = .zero
    /// How long after a publication further changes are gathered.
    var burst: Duration = .milliseconds(20)

    enum Verdict: Equatable {
        case publish
        case wait(until: Duration)
    }

    private var windowEnd: Duration?
    private var gainStart: Duration?

    init(gain: Duration = .zero, burst: Duration = .milliseconds(20)) {
        self.gain = gain
        self.burst = burst
    }

    /// Called with the change that is there now, as often as somebody likes; the time is any clock that only goes forward.
    mutating func decide(from old: NetworkPath?, to new: NetworkPath, now: Duration) -> Verdict {
        guard let old, !(old.isSatisfied && !new.isSatisfied) else { return published(now) }
        var deadline = windowEnd ?? now
        if new.isSatisfied && !old.isSatisfied {
            let start = gainStart ?? now
            gainStart = start
            deadline = max(deadline, start + gain)
        } else {
            gainStart = nil
        }
        return deadline <= now ? published(now) : .wait(until: deadline)
    }

    /// The candidate equals what was told last: nothing is on its way any more.
    mutating func nothingToTell() { gainStart = nil }

    private mutating func published(_ now: Duration) -> Verdict {
        windowEnd = now + burst
        gainStart = nil
        return .publish
    }
}
