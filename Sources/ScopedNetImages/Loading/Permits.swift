import ScopedNet
import SystemSupport

/// Permits to transfer, to hold a file or to decode, for a few at a time. Any thread; no waiter is resumed under the lock.
final class Permits: Sendable {
    private struct State: ~Copyable {
        var line: PermitLine<UInt64>
        var waiters: [UInt64: CheckedContinuation<Bool, Never>] = [:]
        /// Those who gave up before they had begun to wait.
        var gone: Set<UInt64> = []
    }

    /// A permit, given back when it goes.
    final class Lease: Sendable {
        private let permits: Permits
        private let id: UInt64

        fileprivate init(_ permits: Permits, _ id: UInt64) { (self.permits, self.id) = (permits, id) }

        deinit { permits.giveBack(id) }
    }

    private let state: Lock<State>

    init(limit: Int, order: ImageOrder) { state = Lock(State(line: PermitLine(limit: limit, order: order))) }

    /// Those who hold a permit, and those who wait for one.
    var counts: (running: Int, waiting: Int) { state.withLock { ($0.line.holders.count, $0.line.waitingCount) } }

    /// Runs `body` with a permit; as ``lease(_:for:)``, and throws what `body` throws.
    func withPermit<Value: Sendable>(_ id: UInt64, for work: CoalescedWork, _ body: () async throws -> Value) async throws -> Value {
        let lease = try await lease(id, for: work)
        defer { withExtendedLifetime(lease) {} }
        try Task.checkCancellation()
        return try await body()
    }

    /// Waits for a permit, as urgent as `work`, in the order of the numbers, each of which is used once at a time.
    ///
    /// - Throws: `CancellationError` where the task was cancelled meanwhile.
    func lease(_ id: UInt64, for work: CoalescedWork) async throws -> Lease {
        let hasPermit = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> Bool? in
                    if state.gone.remove(id) != nil { return false }
                    if state.line.ask(id, work.priority) { return true }
                    state.waiters[id] = continuation
                    return nil
                }
                if let answer { return continuation.resume(returning: answer) }
                // After it stands in the line: a change that comes between the two would be lost.
                work.carry { [weak self] priority in self?.state.withLock { $0.line.setPriority(priority, of: id) } }
            }
        } onCancel: {
            giveUp(id)
        }
        guard hasPermit else { throw CancellationError() }
        return Lease(self, id)
    }

    private func giveUp(_ id: UInt64) {
        let waiter = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard let waiter = state.waiters.removeValue(forKey: id) else {
                // It holds a permit, or has not begun to wait.
                if !state.line.holders.contains(id) { state.gone.insert(id) }
                return nil
            }
            _ = state.line.leave(id)
            return waiter
        }
        waiter?.resume(returning: false)
    }

    private func giveBack(_ id: UInt64) {
        let next = state.withLock { state in
            state.gone.remove(id)
            return state.line.leave(id).flatMap { state.waiters.removeValue(forKey: $0) }
        }
        next?.resume(returning: true)
    }
}
