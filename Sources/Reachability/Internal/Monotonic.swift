// Whichever of the two the compiler loads first is taken for the home of `timespec`.
import CNetlink
import Glibc

/// The clock of all windows and deadlines here.
enum Monotonic {
    static func now() -> Duration { read(CLOCK_MONOTONIC) }

    /// How long the machine has slept in all.
    static func timeAsleep() -> Duration { read(CLOCK_BOOTTIME) - read(CLOCK_MONOTONIC) }

    private static func read(_ clock: clockid_t) -> Duration {
        var time = timespec()
        clock_gettime(clock, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

extension Duration {
    /// Rounded up, so that a timer never fires early.
    var milliseconds: Int32 {
        guard self > .zero else { return 0 }
        let (seconds, attoseconds) = components
        guard seconds < 86_400 else { return 86_400_000 }
        return Int32(seconds) * 1000 + Int32((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
