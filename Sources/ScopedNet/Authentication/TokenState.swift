import Persistence

/// One token for many requests, and one renewal for any number of refusals. (pure)
package struct TokenState: Sendable {
    package enum Action: Sendable, Hashable {
        /// This one is newer than the one that was refused.
        case use(String)
        /// A renewal is under way.
        case wait
        /// Nobody renews it yet: you do. The number is the renewal's.
        case renew(UInt64, refused: String?)
    }

    package private(set) var token: String?
    private var renewal: (number: UInt64, refused: String?, waiters: Set<UInt64>)?
    private var renewals: UInt64 = 0
    /// Since the last renewal began.
    private var wasSet = false

    package init(_ token: String?) { self.token = token }

    package var isRenewing: Bool { renewal != nil }

    /// That one, and not a later one.
    package func isRenewing(_ number: UInt64) -> Bool { renewal?.number == number }

    /// Asks for a token.
    ///
    /// - Parameters:
    ///   - refused: the one that a server has refused; nil where none was sent.
    ///   - waiter: the waiter's number, should there be something to wait for.
    /// - Returns: the token there is, or the order to renew it or to wait.
    package mutating func ask(insteadOf refused: String?, waiter: UInt64) -> Action {
        // What is being renewed has been refused: it is of no use to anybody.
        if renewal != nil {
            renewal?.waiters.insert(waiter)
            return .wait
        }
        if let token, refused.map({ !token.hasSameBytes(as: $0) }) ?? true { return .use(token) }
        renewals += 1
        wasSet = false
        renewal = (renewals, token ?? refused, [waiter])
        return .renew(renewals, refused: token ?? refused)
    }

    /// A waiter has lost interest.
    ///
    /// - Returns: the renewal that nobody waits for any more, which is over.
    package mutating func leave(_ waiter: UInt64) -> UInt64? {
        guard renewal?.waiters.remove(waiter) != nil, let left = renewal, left.waiters.isEmpty else { return nil }
        renewal = nil
        return left.number
    }

    /// A renewal has ended; nil for its failure.
    ///
    /// - Returns: who is to hear of it.
    package mutating func renewed(_ number: UInt64, _ fresh: String?) -> Set<UInt64> {
        guard let current = renewal, current.number == number else {
            // Everybody had left. Where the server changes its refresh token each time, the new one must not be lost; one that was set
            // or fetched since is newer.
            if let fresh, renewal == nil, renewals == number, !wasSet { token = fresh }
            return []
        }
        renewal = nil
        if let fresh { token = fresh }
        return current.waiters
    }

    /// Somebody has signed in, or out.
    ///
    /// - Returns: the renewal that this ends, and who waits for it.
    package mutating func set(_ token: String?) -> (renewal: UInt64, waiters: Set<UInt64>)? {
        self.token = token
        wasSet = true
        defer { renewal = nil }
        return renewal.map { ($0.number, $0.waiters) }
    }
}
