/// How many calls a path made, and how many of them were failed in turn: whether anything was shown at all.
struct FaultTally {
    /// Counted in rounds without a failure, the fewest of them.
    var calls: Int
    /// The number of the first call that was to fail; 1 fails all.
    var first = 1
    /// From one failing call to the next; 1 fails all.
    var step = 1
    /// Calls that did fail, each in its own round.
    var failed = 0

    /// What is wrong with the count, if anything.
    var problem: String? {
        if calls == 0 { return "no call was counted: nothing was shown" }
        let due = max(0, calls + 1 - first) / step
        // The calls of a round vary, most where many wait for one lock. Many less than ever, and the wrong ones were counted.
        return failed * 4 < due * 3 ? "only \(failed) of \(due) calls failed" : nil
    }
}
