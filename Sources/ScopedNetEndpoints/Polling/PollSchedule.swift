/// The times at which a ``Poll`` asks again.
public struct PollSchedule: Sendable, Hashable {
    /// The time between an answer and the next question. Default: 5 seconds.
    public var interval: Duration
    /// By how much each wait is longer than the one before; at least 1. Default: 1, all are the same.
    public var factor: Double
    /// The longest wait. Default: one minute, or the interval where that is longer.
    public var longest: Duration
    /// The failures in a row after which it gives up; at least 1. Default: 3. A failure waits as an answer does.
    public var attempts: Int
    /// True to ask at once when the network becomes another one or comes back, and to begin with the shortest wait again. Default: true.
    public var asksOnNetworkChange: Bool

    /// Makes a schedule.
    public init(
        every interval: Duration = .seconds(5), factor: Double = 1, longest: Duration = .seconds(60), attempts: Int = 3,
        asksOnNetworkChange: Bool = true
    ) {
        self.interval = interval
        self.factor = factor
        self.longest = longest
        self.attempts = attempts
        self.asksOnNetworkChange = asksOnNetworkChange
    }
}

/// The decisions of a ``Poll``: when it asks again, and when it ends. (pure)
struct PollMachine: Hashable, Sendable {
    enum Step: Hashable, Sendable {
        case wait(Duration)
        /// The answer was the one that was waited for.
        case succeed
        /// There were too many failures in a row.
        case fail
    }

    private let schedule: PollSchedule
    private var next: Duration
    private var failures = 0

    init(_ schedule: PollSchedule) {
        self.schedule = schedule
        next = max(.zero, schedule.interval)
    }

    mutating func answered(isLast: Bool) -> Step {
        failures = 0
        return isLast ? .succeed : wait()
    }

    mutating func failed() -> Step {
        failures += 1
        return failures >= max(1, schedule.attempts) ? .fail : wait()
    }

    /// The wait was cut short by the network: what was slow before need not be slow now.
    mutating func networkChanged() { next = max(.zero, schedule.interval) }

    private mutating func wait() -> Step {
        let longest = max(.zero, schedule.longest, schedule.interval)
        defer { if schedule.factor > 1 { next = Self.grown(next, by: schedule.factor, to: longest) } }
        return .wait(min(next, longest))
    }

    /// In seconds, which neither a large nor an infinite factor leads out of.
    private static func grown(_ time: Duration, by factor: Double, to longest: Duration) -> Duration {
        let seconds = Self.seconds(time) * factor
        return seconds < Self.seconds(longest) ? .seconds(seconds) : longest
    }

    private static func seconds(_ time: Duration) -> Double {
        Double(time.components.seconds) + Double(time.components.attoseconds) * 1e-18
    }
}
