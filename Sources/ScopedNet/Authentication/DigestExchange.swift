import Persistence

/// What is known of one protection space that asks for digest: which nonce to use, how often it was used, and whether another attempt has a point.
/// (pure)
package struct DigestExchange: Sendable {
    package enum Decision: Sendable, Hashable {
        case answer(DigestChallenge, count: UInt32)
        /// The same credentials were refused: asking again would go round in circles.
        case giveUp
        /// No challenge anybody here can answer.
        case unsupported
    }

    /// The most answers to stale nonces in a row. A server that calls each nonce stale has the last word then.
    package static let mostStaleAnswers = 4

    private var challenge: DigestChallenge?
    private var count: UInt32 = 0

    package init() {}

    /// For a request before it is sent: the known nonce once more (section 3.6), or nil where none is known.
    package mutating func preempt() -> (challenge: DigestChallenge, count: UInt32)? {
        guard let challenge, count < .max else { return nil }
        count += 1
        return (challenge, count)
    }

    /// The server has named the nonce that it wants next (section 3.5).
    package mutating func follow(by nonce: String) {
        guard let known = challenge, !known.nonce.hasSameBytes(as: nonce), let next = known.followed(by: nonce) else { return }
        challenge = next
        count = 0
    }

    /// Decides about a 401 or 407.
    ///
    /// - Parameters:
    ///   - fields: the values of `WWW-Authenticate` or `Proxy-Authenticate`.
    ///   - answered: the nonce that the refused request carried; nil when it carried no answer. A server that says it is stale, gets
    ///     another answer, a few times: servers behind one name may not know each other's nonces, and those for a single use may be gone by
    ///     then.
    ///   - staleAnswers: the answers to stale nonces up to that one, which was the last of them.
    /// - Returns: the challenge to answer, or the reason to answer none.
    package mutating func refused(fields: [String], answered: String?, staleAnswers: Int = 0) -> Decision {
        guard let fresh = DigestChallenge.first(in: fields) else { return .unsupported }
        return refused(by: fresh, answered: answered, staleAnswers: staleAnswers)
    }

    /// As ``refused(fields:answered:staleAnswers:)``, where the challenge has been chosen.
    package mutating func refused(by fresh: DigestChallenge, answered: String?, staleAnswers: Int = 0) -> Decision {
        if let answered, !fresh.isStale || staleAnswers >= Self.mostStaleAnswers || fresh.nonce.hasSameBytes(as: answered) {
            challenge = nil
            return .giveUp
        }
        let isSameNonce = challenge.map { $0.nonce.hasSameBytes(as: fresh.nonce) } ?? false
        count = isSameNonce && count < .max ? count + 1 : 1
        challenge = fresh
        return .answer(fresh, count: count)
    }
}
