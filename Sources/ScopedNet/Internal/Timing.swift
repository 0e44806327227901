import Dispatch
import SystemSupport

/// Where the time of waits comes from: retries, queue timeouts. Tests put a manual one here.
package protocol Timing: Sendable {
    /// Nanoseconds of a monotonic clock.
    func now() -> UInt64
    /// Calls `action` once, on any thread, unless cancelled before.
    func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Cancellable
}

/// Real time: one dispatch timer for each wait.
package struct SystemTiming: Timing {
    package init() {}

    /// A queue of the library's own: in the global one, timers stand behind whatever the host program blocks there, for as long as that lasts.
    private static let queue = DispatchQueue(label: "scopednet.timers")

    package func now() -> UInt64 { monotonicNow() }

    package func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Cancellable {
        DispatchTimer(delay, action)
    }

    private final class DispatchTimer: Cancellable {
        private let item: Lock<DispatchSourceTimerBox?>

        init(_ delay: Duration, _ action: @escaping @Sendable () -> Void) {
            let timer = DispatchSource.makeTimerSource(queue: SystemTiming.queue)
            item = Lock(DispatchSourceTimerBox(timer: timer))
            LiveObjects.born(.timer)
            timer.setEventHandler { [self] in
                // The handler keeps the timer alive until it fires or is cancelled; either clears it.
                if take() != nil { action() }
            }
            timer.schedule(deadline: .now() + .nanoseconds(Int(clamping: delay.nanoseconds)), leeway: .milliseconds(1))
            timer.activate()
        }

        deinit { LiveObjects.died(.timer) }

        private func take() -> DispatchSourceTimerBox? {
            let box = item.withLock { item in
                defer { item = nil }
                return item
            }
            box?.timer.setEventHandler {}
            box?.timer.cancel()
            return box
        }

        func cancel() { _ = take() }
    }

    private struct DispatchSourceTimerBox: @unchecked Sendable {
        // Safety: dispatch sources may be cancelled and configured from any thread.
        let timer: any DispatchSourceTimer
    }
}
