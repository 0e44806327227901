import CNetlink
import Glibc

/// Hears of steps of the wall clock, and so of waking up, without ever polling: a timer in the far future that a step cancels.
struct ClockWatch: ~Copyable {
    let descriptor: Int32

    init() {
        descriptor = timerfd_create(CLOCK_REALTIME, CNL_TIMERFD_FLAGS)
        arm()
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    private borrowing func arm() {
        guard descriptor >= 0 else { return }
        var time = itimerspec()
        // The year 2255, within what the kernel can count.
        time.it_value.tv_sec = 9_000_000_000
        timerfd_settime(descriptor, CNL_TIMER_CANCEL_ON_SET, &time, nil)
    }

    /// Reads the cancellation away and waits for the next.
    borrowing func clear() {
        var count: UInt64 = 0
        _ = read(descriptor, &count, 8)
        arm()
    }
}
