/// Calls that belong to one step but to different places, one after the other, each where it belongs.
enum CallChain {
    struct Call: Sendable {
        let lane: DeliveryLane
        let work: @Sendable () -> Void
    }

    /// Runs what belongs here at once and hops for the rest; `then` runs on `home`.
    static func run(_ calls: [Call], from index: Int = 0, on here: DeliveryLane, home: DeliveryLane, then: @escaping @Sendable () -> Void) {
        var index = index
        while index < calls.count, calls[index].lane === here {
            calls[index].work()
            index += 1
        }
        let rest = index
        let next = rest < calls.count ? calls[rest].lane : home
        if rest == calls.count, here === home { return then() }
        next.enqueue(.work { run(calls, from: rest, on: next, home: home, then: then) })
    }
}
