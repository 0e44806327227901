import SystemSupport

@testable import ScopedNet

/// The events that happened, in order, from any thread; waits by event.
final class Trace: Sendable {
    private struct State {
        var lines: [String] = []
        var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }
    private let state = Lock(State())

    var lines: [String] { state.withLock { $0.lines } }

    func add(_ line: String) {
        let ready = state.withLock { state in
            state.lines.append(line)
            let ready = state.waiters.filter { $0.count <= state.lines.count }
            state.waiters.removeAll { $0.count <= state.lines.count }
            return ready
        }
        for waiter in ready { waiter.continuation.resume() }
    }

    func count(_ line: String) -> Int { lines.count { $0 == line } }

    /// Returns when there are as many lines.
    func wait(for count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state -> Bool in
                if state.lines.count >= count { return true }
                state.waiters.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }
}
