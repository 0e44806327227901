/// Tells waking up from a mere step of the wall clock (pure): in sleep the boot clock runs on and the monotonic one stands still.
struct SleepDetector {
    private var asleep: Duration

    init(timeAsleep: Duration) { asleep = timeAsleep }

    /// True when the machine has slept since the last call. Both clocks are read one after the other, hence the tolerance.
    mutating func hasSlept(timeAsleep: Duration) -> Bool {
        defer { asleep = timeAsleep }
        return timeAsleep - asleep > .milliseconds(100)
    }
}
