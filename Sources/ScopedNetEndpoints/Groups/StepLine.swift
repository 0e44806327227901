import Synchronization

/// Does the steps that a machine decides on, one at a time and in their order.
///
/// Two calls end at once, on two threads: whoever comes first does what both have to say, so that reports keep their order. Decided and put into line in one
/// step, or the second would be in line before the first.
final class StepLine<Step: Sendable>: Sendable {
    private let pending = Mutex<(steps: [Step], isTaken: Bool)>(([], false))

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
        pending.withLock { pending in
            if pending.steps.isEmpty {
                pending.isTaken = false
                return nil
            }
            return pending.steps.removeFirst()
        }
    }
}
