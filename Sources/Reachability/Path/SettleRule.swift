/// When a change is told (pure): a loss at once; what else follows a publication waits for the end of a window that nothing restarts.
///
/// A loss is the end of something that was told to work: the path, one of its families, or an interface it leads over, which is gone,
/// down or without a carrier. Of two uplinks the second is thus told at once when the first dies. What is lost comes back at the end of
/// the window only, so that flapping costs two tellings a window at most; and a path that merely moves to another gateway, or between
/// interfaces that both live, waits with the rest.
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

    /// Decides about the change that is there now. It may be asked at any time; the time is that of any clock that only goes
    /// forward.
    ///
    /// With `losesInterface` an interface of the old path can carry nothing any more.
    mutating func decide(from old: NetworkPath?, to new: NetworkPath, losesInterface: Bool = false, now: Duration) -> Verdict {
        guard let old, !Self.isLoss(from: old, to: new, losesInterface) else { return published(now) }
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

    private static func isLoss(from old: NetworkPath, to new: NetworkPath, _ losesInterface: Bool) -> Bool {
        guard old.isSatisfied else { return false }
        let losesFamily = (old.supportsIPv4 && !new.supportsIPv4) || (old.supportsIPv6 && !new.supportsIPv6)
        return !new.isSatisfied || losesInterface || losesFamily
    }

    /// The candidate equals what was told last: nothing is on its way any more.
    mutating func nothingToTell() { gainStart = nil }

    private mutating func published(_ now: Duration) -> Verdict {
        windowEnd = now + burst
        gainStart = nil
        return .publish
    }
}
