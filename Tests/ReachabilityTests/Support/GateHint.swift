import Foundation

@testable import Reachability

/// Asked at every evaluation on the monitor's thread: a place to stop that thread, and to read its clock.
final class GateHint: MeteredHint, @unchecked Sendable {
    // Safety: all under the condition's lock.
    private let condition = NSCondition()
    private var isClosed = false
    private var isBlocked = false
    private var threadTime: Duration = .zero
    private var calls = 0

    func metered(over interfaces: [NetworkInterface]) -> NetworkPath.Metered {
        condition.lock()
        defer { condition.unlock() }
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        threadTime = .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
        calls += 1
        isBlocked = isClosed
        condition.broadcast()
        while isClosed { condition.wait() }
        isBlocked = false
        return .unknown
    }

    func close() { change { isClosed = true } }
    func open() { change { isClosed = false } }

    private func change(_ body: () -> Void) {
        condition.lock()
        body()
        condition.broadcast()
        condition.unlock()
    }

    func waitUntilBlocked() -> Bool { wait { isBlocked } }

    /// The processor time of the thread that asks, as of a question asked from now on.
    func threadTime(after trigger: () -> Void) -> Duration {
        condition.lock()
        let before = calls
        condition.unlock()
        trigger()
        _ = wait { calls > before }
        condition.lock()
        defer { condition.unlock() }
        return threadTime
    }

    private func wait(_ isRight: () -> Bool) -> Bool {
        let deadline = Date(timeIntervalSinceNow: 10)
        condition.lock()
        defer { condition.unlock() }
        while !isRight() {
            if !condition.wait(until: deadline) { return isRight() }
        }
        return true
    }
}
