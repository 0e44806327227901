/// When entries have to go, and how many bytes of them. Pure.
struct EvictionPolicy: Sendable, Equatable {
    /// In bytes.
    let capacity: Int

    /// - Parameters:
    ///   - limit: what the user allows.
    ///   - used: what the store takes now.
    ///   - free: what the file system has left; a cache takes no more than a fifth of what it could have.
    init(limit: Int, used: Int, free: Int?) {
        guard let free else {
            capacity = max(0, limit)
            return
        }
        let (room, overflow) = used.addingReportingOverflow(free)
        capacity = max(0, min(limit, (overflow ? Int.max : room) / 5))
    }

    /// Rows of one transaction: others get a turn in between.
    static let batch = 200

    /// Begins at 95 % of the capacity; then everything beyond 90 % goes.
    func bytesToFree(used: Int) -> Int? {
        guard used > capacity / 100 * 95 + capacity % 100 * 95 / 100 else { return nil }
        return used - (capacity / 100 * 90 + capacity % 100 * 90 / 100)
    }
}
