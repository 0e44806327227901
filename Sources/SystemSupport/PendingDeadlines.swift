/// A set of waits with deadlines, and the time of the next look at them. (pure)
///
/// One clock serves all waits: most of them end long before their deadlines, so it rings for few. It is
/// set when nothing is pending or an earlier deadline comes, and not when a wait ends.
package struct PendingDeadlines<Item> {
    private var items: [UInt64: (deadline: Duration, item: Item)] = [:]
    private var lastID: UInt64 = 0
    /// The time the clock is set to; nil while it is not set.
    package private(set) var alarm: Duration?

    package init() {}

    package var isEmpty: Bool { items.isEmpty }

    /// - Returns: an identifier for `remove`, and whether the clock has to be set to the new `alarm`.
    package mutating func insert(_ item: Item, deadline: Duration) -> (id: UInt64, setsAlarm: Bool) {
        lastID += 1
        items[lastID] = (deadline, item)
        if let alarm, alarm <= deadline { return (lastID, false) }
        alarm = deadline
        return (lastID, true)
    }

    /// The wait has ended. Does nothing for one that has expired.
    package mutating func remove(_ id: UInt64) { items[id] = nil }

    /// The clock was stopped: the next wait sets it again.
    package mutating func alarmStopped() { alarm = nil }

    /// The clock has rung.
    ///
    /// - Returns: the waits whose deadlines have come, the earliest first. `alarm` is the next time to look,
    ///   or nil when nothing is pending.
    package mutating func expire(now: Duration) -> [Item] {
        let due = items.filter { $0.value.deadline <= now }
        for id in due.keys { items[id] = nil }
        alarm = items.values.map(\.deadline).min()
        return due.sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }.map(\.value.item)
    }
}
