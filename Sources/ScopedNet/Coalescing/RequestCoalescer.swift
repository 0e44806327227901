import SystemSupport

/// One piece of work for each key: whoever wants the same meanwhile waits for its product.
///
/// A picture that three cells of a list show is fetched and decoded once, as urgently as the most urgent of them wants it, until the last of them has gone:
///
/// ```swift
/// let pictures = RequestCoalescer<String, Picture>()
///
/// func show(_ url: String, on cell: Cell) {
///     pictures.join(url, of: session, in: cell.bag, to: Callback(for: cell) { cell, result in cell.picture = try? result.get() }) { [session] lead in
///         try await Picture(decoding: lead.value(of: session.get(url)))
///     }
/// }
/// ```
///
/// The response cache uses it for requests with the same key. Any thread; nothing is called under its lock. Which of several threads comes first is
/// decided in one pure table, whose every order is tried by a model check.
public final class RequestCoalescer<Key: Hashable & Sendable, Product: Sendable>: Sendable {
    /// Gets the product, or nil where there will be none.
    typealias Waiter = @Sendable (Result<Product, any Error>?) -> Void
    private typealias Table = CoalescingTable<Key, any CoalescedMember, Waiter>

    private let table = Lock(Table())

    /// Makes one under which nobody waits.
    public init() {}

    // MARK: Members that lead for others

    /// - Returns: true for the one who is to get the product and then calls ``end(ledBy:with:)``. Nothing is noted for the others.
    func lead(_ key: Key, _ member: any CoalescedMember) -> Bool { table.withLock { $0.lead(key, member.id, member) } }

    /// Calls `answered` once when the leader is done, on any thread. Until then the leader is as urgent as the most urgent who waits for it.
    ///
    /// - Returns: false when nobody leads any more.
    func follow(_ key: Key, _ id: UInt64, _ priority: Priority, _ answered: @escaping Waiter) -> Bool {
        guard let leader = table.withLock({ $0.follow(key, id, priority, answered) }) else { return false }
        settlePriority(of: leader, key)
        return true
    }

    /// As ``follow(_:_:_:_:)``, under `leader` where nobody leads.
    ///
    /// - Returns: true where that is so.
    func join(_ key: Key, _ id: UInt64, _ priority: Priority, orUnder leader: any CoalescedMember, _ answered: @escaping Waiter) -> Bool {
        let joined = table.withLock { $0.join(key, id, priority, answered, orUnder: leader, leader.id) }
        settlePriority(of: joined.leader, key)
        return joined.isNew
    }

    /// Two may come and go at once: whoever is last sees what holds.
    private func settlePriority(of leader: any CoalescedMember, _ key: Key) {
        while let level = table.withLock({ $0.level(key, ledBy: leader.id) }), leader.setFollowersLevel(level) {}
    }

    /// A follower waits no longer. When it was the last, and the leader's owner has gone too, nobody wants the product any more.
    ///
    /// With `endsWithLast` the leader has no other owner than its followers: it is forgotten with the last of them, in the same step.
    func leave(_ key: Key, _ id: UInt64, endsWithLast: Bool = false) {
        // The waiter, and all it holds, is let go outside the lock.
        guard let gone = table.withLock({ $0.leave(key, id, endsWithLast: endsWithLast) }) else { return }
        settlePriority(of: gone.leader, key)
        if gone.isLast { gone.leader.followersHaveGone() }
    }

    /// A follower becomes more urgent, or less; for one that waits no longer nothing changes.
    func setPriority(_ key: Key, _ id: UInt64, _ priority: Priority) {
        if let leader = table.withLock({ $0.setPriority(key, id, priority) }) { settlePriority(of: leader, key) }
    }

    /// Others wait for what this member is getting.
    func isFollowed(ledBy id: UInt64) -> Bool { table.withLock { $0.isFollowed(ledBy: id) } }

    /// All who wait.
    package var followerCount: Int { table.withLock { $0.waiterCount } }

    /// The leader is done. A nil product is looked for where it was put, or will never be.
    func end(ledBy id: UInt64, with product: Result<Product, any Error>? = nil) {
        guard let ended = table.withLock({ $0.end(ledBy: id) }), !ended.waiters.isEmpty else { return }
        WorkPool.shared.submit(ended.waiters.map { waiter in { @Sendable in waiter(product) } })
    }
}
