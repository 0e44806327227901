/// The members that share one answer for each key: one leads and gets it, the others wait. (pure)
///
/// A member leads under one key at most. What leaves the table is returned, so that it can be let go outside a lock.
struct CoalescingTable<Key: Hashable, Leader, Waiter> {
    fileprivate struct Place {
        var priority: Priority
        let waiter: Waiter
    }

    fileprivate struct Group {
        let leader: Leader
        let leaderID: UInt64
        var waiters: [UInt64: Place] = [:]
        /// The number of those who wait with each priority: with thousands of them nobody goes through all each time one comes or goes.
        var counts = [Int](repeating: 0, count: Priority.allCases.count)
    }

    private var groups: [Key: Group] = [:]
    private var keys: [UInt64: Key] = [:]

    init() {}

    /// - Returns: true for the one who is to get the answer. Nothing is noted for the others.
    mutating func lead(_ key: Key, _ id: UInt64, _ leader: Leader) -> Bool {
        guard groups[key] == nil, keys[id] == nil else { return false }
        groups[key] = Group(leader: leader, leaderID: id)
        keys[id] = key
        return true
    }

    /// A member waits from here on; `leader` leads where nobody does yet.
    ///
    /// - Returns: who leads, and whether that is the new one.
    mutating func join(
        _ key: Key, _ id: UInt64, _ priority: Priority, _ waiter: Waiter, orUnder leader: Leader, _ leaderID: UInt64
    ) -> (leader: Leader, isNew: Bool) {
        let isNew = lead(key, leaderID, leader)
        return (follow(key, id, priority, waiter) ?? leader, isNew)
    }

    /// A member waits from here on, with one place under each key.
    ///
    /// - Returns: who leads; nil when nobody does any more, and then nothing is noted.
    mutating func follow(_ key: Key, _ id: UInt64, _ priority: Priority, _ waiter: Waiter) -> Leader? {
        guard let group = groups[key] else { return nil }
        if group.waiters[id] == nil {
            groups[key]?.waiters[id] = Place(priority: priority, waiter: waiter)
            groups[key]?.counts[Int(priority.level)] += 1
        }
        return group.leader
    }

    /// A member that waits becomes more urgent, or less.
    ///
    /// - Returns: who leads; nil where it does not wait, or has that priority.
    mutating func setPriority(_ key: Key, _ id: UInt64, _ priority: Priority) -> Leader? {
        guard let old = groups[key]?.waiters[id]?.priority, old != priority else { return nil }
        groups[key]?.waiters[id]?.priority = priority
        groups[key]?.counts[Int(old.level)] -= 1
        groups[key]?.counts[Int(priority.level)] += 1
        return groups[key]?.leader
    }

    /// A member waits no longer. With `endsWithLast` nobody leads either once the last has left: who comes next begins anew.
    ///
    /// - Returns: nil where it did not wait.
    mutating func leave(_ key: Key, _ id: UInt64, endsWithLast: Bool = false) -> (waiter: Waiter, leader: Leader, isLast: Bool)? {
        guard let gone = groups[key]?.waiters.removeValue(forKey: id) else { return nil }
        groups[key]?.counts[Int(gone.priority.level)] -= 1
        guard let group = groups[key] else { return nil }
        if endsWithLast, group.waiters.isEmpty { _ = end(ledBy: group.leaderID) }
        return (gone.waiter, group.leader, group.waiters.isEmpty)
    }

    /// The answer is there, or will never be.
    ///
    /// - Returns: who led, and those who wait for it, in the order of their numbers; nil where the member does not lead.
    mutating func end(ledBy id: UInt64) -> (leader: Leader, waiters: [Waiter])? {
        guard let group = keys.removeValue(forKey: id).flatMap({ groups.removeValue(forKey: $0) }) else { return nil }
        return (group.leader, group.waiters.sorted { $0.key < $1.key }.map(\.value.waiter))
    }

    /// The highest level among those who wait, zero for none; nil where another member leads.
    func level(_ key: Key, ledBy id: UInt64) -> UInt8? {
        guard let group = groups[key], group.leaderID == id else { return nil }
        return UInt8(group.counts.lastIndex { $0 > 0 } ?? 0)
    }

    func isFollowed(ledBy id: UInt64) -> Bool { keys[id].flatMap { groups[$0] }.map { !$0.waiters.isEmpty } ?? false }

    var waiterCount: Int { groups.values.reduce(0) { $0 + $1.waiters.count } }
    var isEmpty: Bool { groups.isEmpty && keys.isEmpty }
}

// For a search that knows where it has been.
extension CoalescingTable.Place: Equatable where Leader: Hashable, Waiter: Hashable {}
extension CoalescingTable.Place: Hashable where Leader: Hashable, Waiter: Hashable {}
extension CoalescingTable.Group: Equatable where Leader: Hashable, Waiter: Hashable {}
extension CoalescingTable.Group: Hashable where Leader: Hashable, Waiter: Hashable {}
extension CoalescingTable: Equatable where Leader: Hashable, Waiter: Hashable {}
extension CoalescingTable: Hashable where Leader: Hashable, Waiter: Hashable {}
