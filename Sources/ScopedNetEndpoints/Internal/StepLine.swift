/// Does the steps that a machine decides on, one at a time and in their order.
///
/// Two calls end at once, on two threads: whoever comes first does what both have to say, so that reports keep their order. Decided and put into line in one
/// step, or the second would be in line before the first.
final class StepLine<Step: Sendable>: Sendable {
    private struct Pending: Sendable {
        var steps: [Step] = []
        /// The first that has not been done: many may be decided on at once.
        var next = 0
        var isTaken = false
    }

    private let pending = Lock(Pending())

    /// - Parameters:
    ///   - decide: asked under the lock of the line: nothing but a step of the machine.
    ///   - act: does one step, outside the lock. What it decides on itself is done behind it.
    func take(_ decide: () -> [Step], act: (Step) -> Void) {
        let isMine = pending.withLock { pending in
            pending.steps += decide()
            defer { pending.isTaken = true }
            return !pending.isTaken
        }
        guard isMine else { return }
        while let step = next() { act(step) }
    }

    private func next() -> Step? {
        let (step, done) = pending.withLock { pending -> (Step?, [Step]) in
            if pending.next < pending.steps.count {
                pending.next += 1
                return (pending.steps[pending.next - 1], [])
            }
            (pending.next, pending.isTaken) = (0, false)
            defer { pending.steps = [] }
            return (nil, pending.steps)
        }
        // Let go outside the lock.
        _ = done
        return step
    }
}
