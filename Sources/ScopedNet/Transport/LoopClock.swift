/// The clock of a ``CurlLoop``, and the time for which its thread stood still. (pure)
///
/// Bytes count from the moment at which the clock was read last. A process that is stopped (SIGSTOP, a frozen cgroup, a slow lookup inside of
/// libcurl) in the middle of a turn then reads what came in the meantime with the old time; with the next one it would look like seconds of
/// silence. So each reading says how much of the time since the last one was the loop's own, to be taken off the clocks for silence.
struct LoopClock {
    /// Nanoseconds that a turn may take before it is a delay.
    static let longestTurn: UInt64 = 100_000_000

    /// Nanoseconds of CLOCK_MONOTONIC.
    private(set) var now: UInt64

    /// Takes a new reading in. Since the last one the thread meant to sleep for `milliseconds`, which is no delay of its own; -1 stands for as
    /// long as nothing happens, when no clock runs.
    ///
    /// - Returns: the nanoseconds beyond that for which the thread stood still; 0 where they are those of an ordinary turn.
    mutating func advance(to time: UInt64, asleep milliseconds: Int32) -> UInt64 {
        let elapsed = time > now ? time - now : 0
        now = max(now, time)
        guard milliseconds >= 0 else { return 0 }
        let asleep = UInt64(milliseconds) * 1_000_000
        guard elapsed > asleep, elapsed - asleep > Self.longestTurn else { return 0 }
        return elapsed - asleep
    }
}
