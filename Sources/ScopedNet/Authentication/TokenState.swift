import Persistence

/// One token for many requests, and one renewal for any number of refusals. (pure)
package struct TokenState: Sendable {
    package typealias Token = TokenSource.Token

    package enum Action: Sendable, Hashable {
        /// This one is newer than the one that was refused.
        case use(Token)
        /// The same, and it is renewed beside: by you.
        case useAndRenew(Token, UInt64)
        /// A renewal is under way.
        case wait
        /// Nobody renews it yet: you do. The number is the renewal's.
        case renew(UInt64, refused: Token?)
    }

    private struct Renewal {
        let number: UInt64
        /// It was begun before the token expired, for nobody in particular.
        let isEarly: Bool
        /// The token is of no use to anybody.
        var isRefused: Bool
        var waiters: Set<UInt64>
    }

    package private(set) var token: Token?
    private var renewal: Renewal?
    private var renewals: UInt64 = 0
    /// Since the last renewal began.
    private var wasSet = false

    package init(_ token: Token?) { self.token = token }

    package var isRenewing: Bool { renewal != nil }

    /// That one, and not a later one.
    package func isRenewing(_ number: UInt64) -> Bool { renewal?.number == number }

    /// That one, begun before the token expired.
    package func isEarly(_ number: UInt64) -> Bool { renewal.map { $0.number == number && $0.isEarly } ?? false }

    /// The token without waiting, by the age of the present one; nil where a wait is needed.
    package mutating func ready(_ age: TokenLife.Age = .good) -> Action? {
        guard let token, age != .expired else { return nil }
        if let renewal { return renewal.isEarly && !renewal.isRefused ? .use(token) : nil }
        return age == .due ? .useAndRenew(token, begin(isEarly: true)) : .use(token)
    }

    /// Somebody needs a token.
    ///
    /// - Parameters:
    ///   - refused: the one that a server has refused; nil where none was sent.
    ///   - waiter: the number of the request, should there be something to wait for.
    ///   - age: that of the present token.
    /// - Returns: the next step.
    package mutating func ask(insteadOf refused: String?, waiter: UInt64, _ age: TokenLife.Age = .good) -> Action {
        let isRefused = token.flatMap { token in refused.map { token.value.hasSameBytes(as: $0) } } ?? false
        if !isRefused, let action = ready(age) { return action }
        if renewal != nil {
            renewal?.waiters.insert(waiter)
            if isRefused { renewal?.isRefused = true }
            return .wait
        }
        let number = begin(isEarly: false)
        renewal?.waiters = [waiter]
        return .renew(number, refused: token ?? refused.map { Token($0) })
    }

    private mutating func begin(isEarly: Bool) -> UInt64 {
        renewals += 1
        wasSet = false
        // One that is renewed for a waiter has been refused, or has expired.
        renewal = Renewal(number: renewals, isEarly: isEarly, isRefused: !isEarly, waiters: [])
        return renewals
    }

    /// A waiter has lost interest.
    ///
    /// - Returns: the renewal that nobody waits for any more, which is over. One that was begun early goes on.
    package mutating func leave(_ waiter: UInt64) -> UInt64? {
        guard renewal?.waiters.remove(waiter) != nil, let left = renewal, left.waiters.isEmpty, !left.isEarly else { return nil }
        renewal = nil
        return left.number
    }

    /// True if the token of a renewal will be used.
    package func accepts(_ number: UInt64) -> Bool {
        // Everybody had left. Where the server changes its refresh token each time, the new one must not be lost; one that was set
        // or fetched since is newer.
        isRenewing(number) || renewal == nil && renewals == number && !wasSet
    }

    /// A renewal has ended; nil for its failure.
    ///
    /// - Returns: who is to hear of it.
    package mutating func renewed(_ number: UInt64, _ fresh: Token?) -> Set<UInt64> {
        let isAccepted = accepts(number)
        if let fresh, isAccepted { token = fresh }
        guard let current = renewal, current.number == number else { return [] }
        renewal = nil
        return current.waiters
    }

    /// Somebody has signed in, or out.
    ///
    /// - Returns: the renewal that this ends, and who waits for it.
    package mutating func set(_ token: Token?) -> (renewal: UInt64, waiters: Set<UInt64>)? {
        self.token = token
        wasSet = true
        defer { renewal = nil }
        return renewal.map { ($0.number, $0.waiters) }
    }
}
