/// The time until the next try to open a database that could not be opened. Pure.
///
/// One second, then twice as long each time, up to a minute: a disk that is full or gone for a while is found again soon, and one that stays
/// away costs next to nothing.
struct ReopenBackoff: Sendable {
    private var failures = 0

    /// Notes a failure.
    mutating func fail() -> Duration {
        failures += 1
        return .seconds(min(60, 1 << min(failures - 1, 6)))
    }

    /// The database is open: the next failure is a first one.
    mutating func succeed() { failures = 0 }
}
