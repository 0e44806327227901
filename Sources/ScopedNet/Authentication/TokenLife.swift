/// The time of a token, in nanoseconds of one clock: when it is renewed early, and when it is of no use any more. (pure)
package struct TokenLife: Sendable, Hashable {
    package enum Age: Sendable, Hashable {
        case good
        /// Good still, and to be renewed beside.
        case due
        case expired
    }

    package let due: UInt64
    package let expiry: UInt64

    /// - Parameters:
    ///   - now: the present, in nanoseconds.
    ///   - lifetime: the time that is left from `now` on; none where it is negative.
    ///   - leeway: how long before its end it is due. At most a tenth of the lifetime, so that one of a minute is not renewed at each request.
    package init(from now: UInt64, lifetime: Duration, leeway: Duration) {
        let left = max(.zero, lifetime).nanoseconds
        expiry = now &+ left < now ? .max : now &+ left
        due = expiry - min(max(.zero, leeway).nanoseconds, left / 10)
    }

    package func age(at now: UInt64) -> Age { now < due ? .good : now < expiry ? .due : .expired }

    /// The pause after an early renewal that has failed: a quarter of the leeway, a second at least.
    package var pause: UInt64 { max((expiry - due) / 4, 1_000_000_000) }
}
