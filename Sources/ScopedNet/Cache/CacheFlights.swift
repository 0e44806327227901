/// One request to the server for each key: whoever asks for the same meanwhile waits for its answer and looks into the cache again.
///
/// Followers get nothing that the rules would not have given them out of the cache. So what turns out not to be storable, or to be a variant for
/// others, sends them to the server themselves, at the latest when its head has come.
final class CacheFlights: Sendable {
    private struct Flight {
        let leader: RunCore
        var followers: [UInt64: @Sendable () -> Void] = [:]
    }

    private struct State {
        var flights: [CacheKey: Flight] = [:]
        /// By the leader's number.
        var keys: [UInt64: CacheKey] = [:]
    }

    private let state = Lock(State())

    /// - Returns: true for the one who is to ask the server and then calls ``end(ledBy:)``. Nothing is noted for the others.
    func lead(_ key: CacheKey, _ run: RunCore) -> Bool {
        state.withLock { state in
            guard state.flights[key] == nil, state.keys[run.id] == nil else { return false }
            state.flights[key] = Flight(leader: run)
            state.keys[run.id] = key
            return true
        }
    }

    /// Calls `land` once when the flight has ended, on any thread.
    ///
    /// - Returns: false when there is no flight any more.
    func follow(_ key: CacheKey, _ id: UInt64, _ land: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            guard state.flights[key] != nil else { return false }
            state.flights[key]?.followers[id] = land
            return true
        }
    }

    /// A follower waits no longer. When it was the last, and the leader's owner has gone too, nobody wants the answer any more.
    func leave(_ key: CacheKey, _ id: UInt64) {
        let (gone, leader) = state.withLock { state -> ((@Sendable () -> Void)?, RunCore?) in
            guard let gone = state.flights[key]?.followers.removeValue(forKey: id) else { return (nil, nil) }
            return (gone, state.flights[key].flatMap { $0.followers.isEmpty ? $0.leader : nil })
        }
        // What it holds is let go outside the lock.
        withExtendedLifetime(gone) {}
        // Also one whose callback is running still: its gate is about to close.
        if let leader, leader.gateState.goesOn { _ = leader.cancel(leader.reason) }
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
        WorkPool.shared.submit(flight.followers.sorted { $0.key < $1.key }.map(\.value))
    }
}
