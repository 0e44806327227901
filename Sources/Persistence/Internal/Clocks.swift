import CStore
import Glibc
import SystemSupport

/// The clocks a store reads. Tests put in their own.
struct Clocks: Sendable {
    /// Milliseconds since 1970; may jump in both directions.
    var wall: @Sendable () -> Int64
    /// For deadlines and ages within the process.
    var monotonic: @Sendable () -> Duration

    static let system = Clocks(
        wall: {
            var time = timespec()
            clock_gettime(CLOCK_REALTIME_COARSE, &time)
            return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
        },
        monotonic: { Monotonic.coarse() })
}
