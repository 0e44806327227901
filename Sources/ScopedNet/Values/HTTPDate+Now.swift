import Glibc

extension HTTPDate {
    /// The wall clock, in whole seconds.
    package static var now: HTTPDate {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return HTTPDate(secondsSince1970: Int64(time.tv_sec))
    }
}
