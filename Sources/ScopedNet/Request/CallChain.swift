/// Calls that belong to one step but to different places, one after the other, each where it belongs.
enum CallChain {
    struct Call: Sendable {
        let lane: DeliveryLane
        let work: @Sendable () -> Void
    }

    /// The calls that are left, the next one last.
    private final class Rest: @unchecked Sendable {
        // Safety: whoever makes the calls has it, one lane after the other; each hand-over goes through a lane's lock.
        var calls: [Call]
        init(_ calls: [Call]) { self.calls = calls }
    }

    /// Runs what belongs here at once and hops for the rest; `then` runs on `home`, when the calls and their captures are gone.
    static func run(_ calls: consuming [Call], on here: DeliveryLane, home: DeliveryLane, then: @escaping @Sendable () -> Void) {
        calls.reverse()
        proceed(Rest(consume calls), on: here, home: home, then: then)
    }

    private static func proceed(_ rest: Rest, on here: DeliveryLane, home: DeliveryLane, then: @escaping @Sendable () -> Void) {
        while let lane = rest.calls.last?.lane, lane === here {
            rest.calls.removeLast().work()
        }
        let next = rest.calls.last?.lane ?? home
        if rest.calls.isEmpty, here === home { return then() }
        next.enqueue(.work { proceed(rest, on: next, home: home, then: then) })
    }
}
