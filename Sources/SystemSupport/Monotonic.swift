public import Glibc

/// The clock of all deadlines, windows and ages within the process.
package enum Monotonic {
    /// The time of CLOCK_MONOTONIC.
    package static func now() -> Duration { read(CLOCK_MONOTONIC) }

    /// The time the machine has slept, in all.
    package static func timeAsleep() -> Duration { read(CLOCK_BOOTTIME) - read(CLOCK_MONOTONIC) }

    /// The time of the last tick of the kernel, some milliseconds ago at most, for a tenth of the price.
    package static func coarse() -> Duration { read(CLOCK_MONOTONIC_COARSE) }

    private static func read(_ clock: clockid_t) -> Duration {
        var time = timespec()
        clock_gettime(clock, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

/// CLOCK_MONOTONIC in nanoseconds, for arithmetic that a `Duration` of 128 bits would slow down.
@inlinable
package func monotonicNow() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
