import Synchronization
import SystemSupport

/// A run that asks the server for others, too.
protocol CoalescedMember: AnyObject, Sendable {
    var id: UInt64 { get }
    /// The highest level among those who wait; zero for none. Any thread.
    ///
    /// - Returns: false where it was that already.
    func setFollowersLevel(_ level: UInt8) -> Bool
    /// The last of the others has left. A run that went on for them alone ends. Any thread.
    func followersHaveGone()
}

/// One request to the server for each key: whoever asks for the same meanwhile waits for its answer and looks into the cache again.
///
/// Followers get nothing that the rules would not have given them out of the cache. So what turns out not to be storable, or to be a variant for
/// others, sends them to the server themselves, at the latest when its head has come.
final class CacheFlights: Sendable {
    private struct Follower {
        let priority: Priority
        let land: @Sendable () -> Void
    }

    private struct Flight {
        let leader: any CoalescedMember
        private(set) var followers: [UInt64: Follower] = [:]
        /// How many there are of each level: with thousands of followers nobody goes through all of them each time one comes or goes.
        private var counts = [Int](repeating: 0, count: Priority.allCases.count)
        /// The highest level among the followers.
        var level: UInt8 { UInt8(counts.lastIndex { $0 > 0 } ?? 0) }

        init(leader: any CoalescedMember) { self.leader = leader }

        mutating func join(_ id: UInt64, _ follower: Follower) {
            if let former = followers.updateValue(follower, forKey: id) { counts[Int(former.priority.level)] -= 1 }
            counts[Int(follower.priority.level)] += 1
        }

        mutating func leave(_ id: UInt64) -> Follower? {
            guard let gone = followers.removeValue(forKey: id) else { return nil }
            counts[Int(gone.priority.level)] -= 1
            return gone
        }
    }

    private struct State {
        var flights: [CacheKey: Flight] = [:]
        /// By the leader's number.
        var keys: [UInt64: CacheKey] = [:]
    }

    private let state = Lock(State())

    /// - Returns: true for the one who is to ask the server and then calls ``end(ledBy:)``. Nothing is noted for the others.
    func lead(_ key: CacheKey, _ run: any CoalescedMember) -> Bool {
        state.withLock { state in
            guard state.flights[key] == nil, state.keys[run.id] == nil else { return false }
            state.flights[key] = Flight(leader: run)
            state.keys[run.id] = key
            return true
        }
    }

    /// Calls `land` once when the flight has ended, on any thread. Until then the flight is as urgent as the most urgent who waits for it.
    ///
    /// - Returns: false when there is no flight any more.
    func follow(_ key: CacheKey, _ id: UInt64, _ priority: Priority, _ land: @escaping @Sendable () -> Void) -> Bool {
        let leader = state.withLock { state -> (any CoalescedMember)? in
            state.flights[key]?.join(id, Follower(priority: priority, land: land))
            return state.flights[key]?.leader
        }
        if let leader { settlePriority(of: leader, key) }
        return leader != nil
    }

    /// Two may come and go at once: whoever is last sees what holds.
    private func settlePriority(of leader: any CoalescedMember, _ key: CacheKey) {
        while let level = level(key, ledBy: leader), leader.setFollowersLevel(level) {}
    }

    private func level(_ key: CacheKey, ledBy leader: any CoalescedMember) -> UInt8? {
        state.withLock { state in state.flights[key].flatMap { $0.leader === leader ? $0.level : nil } }
    }

    /// A follower waits no longer. When it was the last, and the leader's owner has gone too, nobody wants the answer any more.
    func leave(_ key: CacheKey, _ id: UInt64) {
        let (gone, leader, isLast) = state.withLock { state -> (Follower?, (any CoalescedMember)?, Bool) in
            guard let gone = state.flights[key]?.leave(id), let flight = state.flights[key] else {
                return (nil, nil, false)
            }
            return (gone, flight.leader, flight.followers.isEmpty)
        }
        // What it holds is let go outside the lock.
        withExtendedLifetime(gone) {}
        guard let leader else { return }
        settlePriority(of: leader, key)
        if isLast { leader.followersHaveGone() }
    }

    /// Somebody waits for what this run is getting.
    func isFollowed(ledBy id: UInt64) -> Bool {
        state.withLock { state in state.keys[id].flatMap { state.flights[$0] }.map { !$0.followers.isEmpty } ?? false }
    }

    /// All who wait.
    package var followerCount: Int { state.withLock { $0.flights.values.reduce(0) { $0 + $1.followers.count } } }

    /// The answer is in the cache, or will never be.
    func end(ledBy id: UInt64) {
        let flight = state.withLock { state in state.keys.removeValue(forKey: id).flatMap { state.flights.removeValue(forKey: $0) } }
        guard let flight, !flight.followers.isEmpty else { return }
        WorkPool.shared.submit(flight.followers.sorted { $0.key < $1.key }.map(\.value.land))
    }
}
