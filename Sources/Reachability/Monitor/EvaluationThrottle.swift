/// How often the kernel is asked (pure): at once for the first triggers of a window, then once at its end.
///
/// A storm of routes thus costs one look a window, and a lone event never waits. Neither does the loss of what a told path rests on,
/// however many events there were before: after the look that it gets nobody is told to rest on that any more.
struct EvaluationThrottle {
    let window: Duration
    private var windowEnd: Duration = .zero
    private var spent = 0

    init(window: Duration = .milliseconds(20)) { self.window = window }

    /// Nil: look now. Else the time at which to look.
    ///
    /// `isLoss` is asked only where this look would have to wait.
    mutating func admit(limit: Int, now: Duration, isLoss: @autoclosure () -> Bool = false) -> Duration? {
        if now >= windowEnd {
            windowEnd = now + window
            spent = 0
        }
        guard spent < limit else { return isLoss() ? nil : windowEnd }
        spent += 1
        return nil
    }
}
