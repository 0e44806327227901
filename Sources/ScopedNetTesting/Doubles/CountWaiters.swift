internal import ScopedNet
import SystemSupport

/// Tasks that wait until there is a certain number of something. A cancelled task does not wait on.
final class CountWaiters: Sendable {
    private struct Waiter {
        let count: Int
        let continuation: CheckedContinuation<Void, Never>
    }

    private let waiters = Lock<[UInt64: Waiter]>([:])

    /// Returns when `current` gives as many, or the task is cancelled. ``wake(_:)`` follows each change.
    func wait(for count: Int, current: @escaping @Sendable () -> Int) async {
        let number = Identifier.next()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                waiters.withLock { $0[number] = Waiter(count: count, continuation: continuation) }
                // After it is in the list: a change or a cancel before that found nobody to wake.
                if Task.isCancelled || current() >= count { take(number)?.resume() }
            }
        } onCancel: {
            take(number)?.resume()
        }
    }

    /// Wakes those for whom there are enough.
    func wake(_ current: Int) {
        let ready = waiters.withLock { waiters in
            let ready = waiters.filter { $0.value.count <= current }
            for number in ready.keys { waiters[number] = nil }
            return ready.values.map(\.continuation)
        }
        for continuation in ready { continuation.resume() }
    }

    private func take(_ number: UInt64) -> CheckedContinuation<Void, Never>? {
        waiters.withLock { $0.removeValue(forKey: number)?.continuation }
    }
}
