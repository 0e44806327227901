import CleanSlate
import Foundation
import Reachability
import ScopedNet
import Testing

/// What sessions hear of the network by, where the monitor behind it cannot start.
@Suite(.leavesNothing, .enabled(if: TestNetwork.isAvailable, TestNetwork.obstacle ?? ""), .timeLimit(.minutes(1)))
struct PathWatchTests {
    /// Timers that fire by hand.
    private final class HandTiming: Timing {
        private struct Timer {
            let id: UUID
            let delay: Duration
            let action: @Sendable () -> Void
        }

        private let timers = Guarded<[Timer]>([])
        private let armed = DispatchSemaphore(value: 0)

        func now() -> UInt64 { 0 }

        func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Cancellable {
            let id = UUID()
            timers.access { $0.append(Timer(id: id, delay: delay, action: action)) }
            armed.signal()
            return AnyCancellable { [self] in timers.access { $0.removeAll { $0.id == id } } }
        }

        var count: Int { timers.access { $0.count } }

        /// The delay of the timer that is armed, or will be.
        func next() -> Duration? {
            guard armed.wait(timeout: .now() + 30) == .success else { return nil }
            return timers.access { $0.first?.delay }
        }

        func fire() { timers.access { $0.isEmpty ? nil : $0.removeFirst() }?.action() }
    }

    private final class Guarded<Value: Sendable>: @unchecked Sendable {
        // Safety: the value is touched under the lock only.
        private let lock = NSLock()
        private var value: Value
        init(_ value: Value) { self.value = value }
        func access<Result>(_ body: (inout Value) -> Result) -> Result { lock.withLock { body(&value) } }
    }

    @Test func aWatchThatCouldNotStartIsTriedAgainAndMakesUpForWhatItMissed() throws {
        let place = FileManager.default.temporaryDirectory.appending(path: "watch-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: place) }
        var configuration = ReachabilityMonitor.Configuration()
        configuration.namespace = .path(place)
        let timing = HandTiming()
        let watch = PathWatch(ReachabilityMonitor(configuration: configuration), timing: timing)
        let told = DispatchSemaphore(value: 0)
        let token = watch.watch { told.signal() }
        var pauses = [timing.next()]
        for _ in 0..<7 {
            timing.fire()
            pauses.append(timing.next())
        }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
        try FileManager.default.createSymbolicLink(atPath: place, withDestinationPath: "/proc/self/ns/net")
        timing.fire()
        let isTold = told.wait(timeout: .now() + 30) == .success
        #expect(isTold)
        #expect(timing.count == 0, "it runs, so nothing is tried again")
        token.cancel()
    }

    @Test func withNobodyWatchingNothingIsTriedAgain() {
        var configuration = ReachabilityMonitor.Configuration()
        configuration.namespace = .path("/nonexistent/netns")
        let timing = HandTiming()
        let watch = PathWatch(ReachabilityMonitor(configuration: configuration), timing: timing)
        let token = watch.watch {}
        let pause = timing.next()
        #expect(pause == .seconds(1))
        timing.fire()
        // The next failure has armed the next timer, or is about to and finds nobody there.
        token.cancel()
        let deadline = ContinuousClock.now + .seconds(10)
        while timing.count > 0, ContinuousClock.now < deadline { sched_yield() }
        #expect(timing.count == 0)
    }
}
