@testable import ScopedNet

/// Time that the test moves by hand. A timer fires on the thread that fires it.
final class HandTiming: Timing {
    private struct State {
        var now: UInt64 = 1_000_000_000
        var next = 0
        var armed: [(number: Int, due: UInt64, action: @Sendable () -> Void)] = []
    }

    private let state = Lock(State())

    func now() -> UInt64 { state.withLock { $0.now } }

    /// Timers that neither fired nor were cancelled.
    var armedCount: Int { state.withLock { $0.armed.count } }

    func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Cancellable {
        let number = state.withLock { state in
            state.next += 1
            state.armed.append((state.next, state.now &+ delay.nanoseconds, action))
            return state.next
        }
        return AnyCancellable { [self] in _ = take { $0 == number } }
    }

    /// Takes out the timer that would fire first, or a certain one.
    private func take(where matches: (Int) -> Bool) -> (@Sendable () -> Void)? {
        state.withLock { state in
            let candidates = state.armed.indices.filter { matches(state.armed[$0].number) }
            guard let first = candidates.min(by: { state.armed[$0].due < state.armed[$1].due }) else { return nil }
            state.now = max(state.now, state.armed[first].due)
            return state.armed.remove(at: first).action
        }
    }

    /// Fires the one that waits longest or shortest.
    func fire(longest: Bool) -> Bool {
        let number = state.withLock { state in
            let all = state.armed
            return (longest ? all.max { $0.due < $1.due } : all.min { $0.due < $1.due })?.number
        }
        guard let number, let action = take(where: { $0 == number }) else { return false }
        action()
        return true
    }

    /// Fires the timer that is due first. Returns false when there is none.
    @discardableResult
    func fire() -> Bool {
        guard let action = take(where: { _ in true }) else { return false }
        action()
        return true
    }
}
