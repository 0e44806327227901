import Glibc

/// Reads CLOCK_MONOTONIC, in nanoseconds.
func monotonicNow() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

extension HTTPDate {
    /// The wall clock, in whole seconds.
    package static var now: HTTPDate {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return HTTPDate(secondsSince1970: Int64(time.tv_sec))
    }
}
