import CleanSlate
import Foundation
import Reachability
import ScopedNet
import Testing

/// What sessions hear of the network by, where the monitor behind it cannot start.
@Suite(.leavesNothing, .enabled(if: TestNetwork.isAvailable, TestNetwork.obstacle ?? ""), .timeLimit(.minutes(5)))
struct PathWatchTests {
    /// Timers that fire by hand.
    private final class HandTiming: Timing {
        private struct Timer {
            let id: UUID
            let delay: Duration
            let action: @Sendable () -> Void
        }

        private let timers = Guarded<[Timer]>([])
        private let hook = Guarded<(@Sendable () -> Void)?>(nil)
        private let armed = DispatchSemaphore(value: 0)
        private let disarmed = DispatchSemaphore(value: 0)

        func now() -> UInt64 { 0 }

        func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Cancellable {
            hook.access { hook in
                defer { hook = nil }
                return hook
            }?()
            let id = UUID()
            timers.access { $0.append(Timer(id: id, delay: delay, action: action)) }
            armed.signal()
            return AnyCancellable { [self] in
                let wasArmed = timers.access { timers in
                    let count = timers.count
                    timers.removeAll { $0.id == id }
                    return timers.count < count
                }
                // One that has fired is none any more.
                if wasArmed { disarmed.signal() }
            }
        }

        /// Called once, before the next timer is armed.
        func beforeNext(_ action: @escaping @Sendable () -> Void) { hook.access { $0 = action } }

        func waitUntilDisarmed() -> Bool { disarmed.wait(timeout: .now() + 30) == .success }

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

    /// A probe is about the monitor's own network, and a session may wait for many targets.
    @Test func whatASessionWaitsForIsNotProbed() async throws {
        TestNetwork.raiseLoopback()
        let probes = Guarded(0)
        var configuration = ReachabilityMonitor.Configuration()
        configuration.probe = ReachabilityProbe(url: "http://check.test/") { _ in
            probes.access { $0 += 1 }
            return .init(status: 204)
        }
        let monitor = ReachabilityMonitor(target: .address(IPAddress(127, 0, 0, 1)), configuration: configuration)
        let watch = PathWatch(monitor, timing: HandTiming())
        let reached = DispatchSemaphore(value: 0)
        let waits = (2..<12).map { number in
            watch.wait(for: [.address(IPAddress(127, 0, 0, UInt8(number)))], notYet: nil) { reached.signal() }
        }
        for _ in waits {
            let isReached = await Self.isSignalled(reached)
            #expect(isReached)
        }
        // Its own probe comes after all of theirs would have.
        try monitor.start()
        for await path in monitor.paths where path.validation == .validated { break }
        monitor.stop()
        let count = probes.access { $0 }
        #expect(count == 1)
        for wait in waits { wait.cancel() }
    }

    private static func isSignalled(_ semaphore: DispatchSemaphore) async -> Bool {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: semaphore.wait(timeout: .now() + 30) == .success) }
        }
    }

    private static func unopenable(_ timing: HandTiming) -> PathWatch {
        var configuration = ReachabilityMonitor.Configuration()
        configuration.namespace = .path("/nonexistent/netns")
        return PathWatch(ReachabilityMonitor(configuration: configuration), timing: timing)
    }

    @Test func withNobodyWatchingNothingIsTriedAgain() {
        let timing = HandTiming()
        let watch = Self.unopenable(timing)
        let token = watch.watch {}
        let pause = timing.next()
        #expect(pause == .seconds(1))
        // The timer is there; whether the watch knows of it already does not matter.
        token.cancel()
        let isDisarmed = timing.waitUntilDisarmed()
        #expect(isDisarmed && timing.count == 0)
    }

    @Test func whoLeavesWhileTheNextTimerIsArmedLeavesNoTimer() {
        let timing = HandTiming()
        let watch = Self.unopenable(timing)
        let token = watch.watch {}
        _ = timing.next()
        timing.beforeNext { token.cancel() }
        timing.fire()
        let isDisarmed = timing.waitUntilDisarmed()
        #expect(isDisarmed && timing.count == 0)
    }

    /// Lets the first look of the start end when the second, of the monitor's thread, has seen another network and waits to tell of it.
    private final class OvertakenHint: MeteredHint {
        private let looks = Guarded(0)
        let (firstLook, secondLook) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let (endFirst, endSecond) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))

        func metered(over interfaces: [NetworkInterface]) -> NetworkPath.Metered {
            let look = looks.access { looks in
                looks += 1
                return looks
            }
            if look == 1 {
                firstLook.signal()
                endFirst.wait()
            } else if look == 2 {
                secondLook.signal()
                endSecond.wait()
            }
            return .unknown
        }
    }

    /// The first path told is then another than the one the watch began with.
    @Test func whatIsLostInTheMomentTheWatchBeginsIsTold() async throws {
        try await TestNetwork.run(.ipv4) { network in
            try network.addUplink()
            try network.waitForCarriers(["v0"])
            let hint = OvertakenHint()
            var configuration = ReachabilityMonitor.Configuration()
            let task = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
            configuration.namespace = .path("/proc/\(task)/ns/net")
            configuration.resolverFile = "/nonexistent/resolv.conf"
            configuration.meteredHint = hint
            let watch = PathWatch(ReachabilityMonitor(configuration: configuration), timing: HandTiming())
            let (told, begun) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let token = watch.watch { told.signal() }
            hint.firstLook.wait()
            let wait = watch.wait(for: [.defaultPath], notYet: nil) { begun.signal() }
            network.setUp(false, "v0")
            hint.secondLook.wait()
            // The start ends with the network that was, and the watch begins; then it hears of the one that is.
            hint.endFirst.signal()
            let hasBegun = begun.wait(timeout: .now() + 30) == .success
            hint.endSecond.signal()
            let isTold = told.wait(timeout: .now() + 30) == .success
            #expect(hasBegun && isTold)
            wait.cancel()
            token.cancel()
        }
    }
}
