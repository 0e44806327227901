/// When bytes may move again at a given speed (pure). Times are nanoseconds of any one clock.
struct SpeedLimit: Sendable, Hashable {
    /// Bytes a second.
    let rate: Int
    /// By when what has moved so far is paid for.
    private var paid: UInt64 = 0

    /// How much time a late wake-up may be made up for.
    static let credit: UInt64 = 250_000_000

    init(rate: Int) { self.rate = max(1, rate) }

    /// When the next bytes may move; nil where that is now.
    func wait(now: UInt64) -> UInt64? { paid > now ? paid : nil }

    /// What was allowed has moved. It is paid for behind it: the first piece never waits.
    mutating func took(_ count: Int, now: UInt64) {
        let seconds = Double(max(0, count)) / Double(rate)
        let cost = seconds < 1e9 ? UInt64(seconds * 1e9) : 1_000_000_000_000_000_000
        paid = max(paid, now > Self.credit ? now - Self.credit : 0) &+ cost
    }
}
