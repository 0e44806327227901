import SystemSupport

/// One request to the server for each key: whoever asks for the same meanwhile waits for its answer, and then looks for it where it was put.
///
/// Followers get nothing that the rules would not have given them out of there. So what turns out to be for nobody else sends them to the server
/// themselves, at the latest when its head has come.
///
/// Any thread. Members are called outside the lock.
final class RequestCoalescer<Key: Hashable & Sendable>: Sendable {
    private typealias Table = CoalescingTable<Key, any CoalescedMember, @Sendable () -> Void>

    private let table = Lock(Table())

    /// - Returns: true for the one who is to ask the server and then calls ``end(ledBy:)``. Nothing is noted for the others.
    func lead(_ key: Key, _ member: any CoalescedMember) -> Bool { table.withLock { $0.lead(key, member.id, member) } }

    /// Calls `answered` once when the leader's answer is there, or will never be, on any thread. Until then the leader is as urgent as the most
    /// urgent who waits for it.
    ///
    /// - Returns: false when nobody leads any more.
    func follow(_ key: Key, _ id: UInt64, _ priority: Priority, _ answered: @escaping @Sendable () -> Void) -> Bool {
        guard let leader = table.withLock({ $0.follow(key, id, priority, answered) }) else { return false }
        settlePriority(of: leader, key)
        return true
    }

    /// Two may come and go at once: whoever is last sees what holds.
    private func settlePriority(of leader: any CoalescedMember, _ key: Key) {
        while let level = table.withLock({ $0.level(key, ledBy: leader.id) }), leader.setFollowersLevel(level) {}
    }

    /// A follower waits no longer. When it was the last, and the leader's owner has gone too, nobody wants the answer any more.
    func leave(_ key: Key, _ id: UInt64) {
        // The waiter, and all it holds, is let go outside the lock.
        guard let gone = table.withLock({ $0.leave(key, id) }) else { return }
        settlePriority(of: gone.leader, key)
        if gone.isLast { gone.leader.followersHaveGone() }
    }

    /// Others wait for what this member is getting.
    func isFollowed(ledBy id: UInt64) -> Bool { table.withLock { $0.isFollowed(ledBy: id) } }

    /// All who wait.
    package var followerCount: Int { table.withLock { $0.waiterCount } }

    /// The answer is where it is looked for, or will never be.
    func end(ledBy id: UInt64) {
        guard let ended = table.withLock({ $0.end(ledBy: id) }), !ended.waiters.isEmpty else { return }
        WorkPool.shared.submit(ended.waiters)
    }
}
