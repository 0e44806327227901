import CleanSlate
import Foundation
import Synchronization
import SystemSupport
import Testing

@testable import Reachability

/// Descriptors and threads, counted in a process of their own: what other suites open would be counted too.
@Suite(.leavesNothing) struct LifecycleTests {
    private static let isChild = ProcessInfo.processInfo.environment["REACHABILITY_CHILD"] != nil

    private static var descriptors: Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? -1 }

    private static var threads: [String] {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return tasks.filter { SmallFile.text(at: "/proc/self/task/\($0)/comm", limit: 64) == "reachability\n" }
    }

    /// Runs one test of this suite in another process.
    private func runAlone(_ test: String) throws {
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let (status, output) = try Command.run([
            "env", "REACHABILITY_CHILD=1", program, "--testing-library", "swift-testing", "--filter", "LifecycleTests/\(test)",
        ])
        print(output.split(separator: "\n").filter { $0.hasPrefix("lifecycle") }.joined(separator: "\n"))
        #expect(status == 0 && output.contains("1 test"), "\(output.suffix(3000))")
    }

    @Test func tenThousandRoundsLeaveNothing() throws {
        guard Self.isChild else { return try runAlone("tenThousandRoundsLeaveNothing") }
        let before = Self.descriptors
        let rounds = 10_000
        for number in 0..<rounds { try Self.round(number) }
        // A thread closes what it had before it ends.
        Self.waitForThreads { Self.descriptors == before }
        print("lifecycle: \(rounds) rounds, \(before) descriptors before and \(Self.descriptors) after, no thread left")
        #expect(Self.descriptors == before)
    }

    /// Created, started, stopped and dropped, in all the orders there are.
    private static func round(_ number: Int) throws {
        let monitor = ReachabilityMonitor(target: number % 3 == 0 ? .defaultPath : .host("localhost"))
        var subscription: ReachabilityMonitor.Subscription? = monitor.observe { _, _ in if number % 4 == 1 { monitor.stop() } }
        try monitor.start()
        if number % 5 == 0 {
            monitor.stop()
            try monitor.start()
        }
        if number % 2 == 0 { monitor.stop() }
        // The closure holds the monitor: here the cycle ends.
        subscription?.cancel()
        subscription = nil
    }

    private static func waitForThreads(_ andThen: () -> Bool) {
        let deadline = ContinuousClock.now + .seconds(60)
        var isOver = false
        while !isOver, ContinuousClock.now < deadline {
            isOver = threads.isEmpty && andThen()
            sched_yield()
        }
        // Not looked at once more: the thread of a monitor that was stopped at once may only now get its name, on its way out.
        #expect(isOver, "\(threads)")
    }

    @Test func whatIsStoppedHoldsNothingThoughTheMonitorIsKept() throws {
        guard Self.isChild else { return try runAlone("whatIsStoppedHoldsNothingThoughTheMonitorIsKept") }
        let before = Self.descriptors
        let monitor = ReachabilityMonitor()
        for _ in 0..<3 {
            try monitor.start()
            let ended = try #require(monitor.engine.run?.ended)
            #expect(Self.descriptors > before)
            monitor.stop()
            ended.wait()
            // It says so a moment before it closes what it had.
            Self.waitForThreads { true }
            #expect(Self.descriptors == before)
        }
        withExtendedLifetime(monitor) {}
    }

    @Test func whereDescriptorsEndItSaysSoAndLeavesNothing() throws {
        guard Self.isChild else { return try runAlone("whereDescriptorsEndItSaysSoAndLeavesNothing") }
        let before = Self.descriptors
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var old = rlimit()
        getrlimit(resource, &old)
        var refusals = 0
        // However many this process was given when it began, the last ones suffice.
        let highest = 30 + before
        for most in 3..<highest {
            let monitor = ReachabilityMonitor(target: .address(IPAddress(127, 0, 0, 1)))
            var limit = rlimit(rlim_cur: rlim_t(most), rlim_max: old.rlim_max)
            setrlimit(resource, &limit)
            var failure: ReachabilityError?
            do throws(ReachabilityError) { try monitor.start() } catch { failure = error }
            setrlimit(resource, &old)
            if let failure {
                refusals += 1
                #expect(failure.code == .resources)
                #expect(!monitor.isStarted && monitor.currentPath == nil)
                // Once there is room again, it starts.
                try monitor.start()
            }
            #expect(monitor.currentPath != nil && monitor.backend == .netlink)
            monitor.stop()
        }
        Self.waitForThreads { Self.descriptors == before }
        #expect(Self.descriptors == before)
        #expect(refusals >= 5 && refusals < highest - 3)
        print("lifecycle: out of descriptors in \(refusals) of \(highest - 3) starts, nothing left behind")
    }

    @Test func outOfDescriptorsIsNotOutOfReachWhenPolling() throws {
        guard Self.isChild else { return try runAlone("outOfDescriptorsIsNotOutOfReachWhenPolling") }
        TestNetwork.raiseLoopback()
        var configuration = ReachabilityMonitor.Configuration()
        configuration.pollingInterval = .milliseconds(10)
        let monitor = ReachabilityMonitor(target: .address(IPAddress(127, 0, 0, 1)), configuration: configuration)
        let other = monitor.monitor(for: .address(IPAddress(127, 0, 0, 2)))
        try Sandbox.run(refusing: Sandbox.withoutNetlink) { try monitor.start() }
        #expect(monitor.backend == .polling(interval: .milliseconds(10)) && monitor.currentPath?.isSatisfied == true)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var old = rlimit()
        getrlimit(resource, &old)
        var none = rlimit(rlim_cur: 0, rlim_max: old.rlim_max)
        setrlimit(resource, &none)
        let looks = monitor.statistics.evaluations
        let deadline = ContinuousClock.now + .seconds(30)
        while monitor.statistics.evaluations < looks + 3, ContinuousClock.now < deadline { sched_yield() }
        var failure: ReachabilityError?
        do throws(ReachabilityError) { try other.start() } catch { failure = error }
        let generation = monitor.currentPath?.generation
        setrlimit(resource, &old)
        #expect(generation == 1 && monitor.currentPath?.isSatisfied == true, "what was told stands")
        #expect(failure?.code == .resources && !other.isStarted && other.currentPath == nil)
        try other.start()
        #expect(other.currentPath?.isSatisfied == true)
    }

    @Test func idleItSleepsInOneThreadWithEightDescriptors() throws {
        guard Self.isChild else { return try runAlone("idleItSleepsInOneThreadWithEightDescriptors") }
        let before = Self.descriptors
        let monitor = ReachabilityMonitor()
        let told = Atomic<Int>(0)
        let box = Counter(told)
        let subscriptions = (0..<1000).map { _ in monitor.observe { _, _ in box.count.add(1, ordering: .relaxed) } }
        try monitor.start()
        let deadline = ContinuousClock.now + .seconds(30)
        while box.count.load(ordering: .relaxed) < 1000, ContinuousClock.now < deadline { sched_yield() }
        #expect(box.count.load(ordering: .relaxed) == 1000)
        #expect(Self.threads.count == 1)
        let opened = Self.descriptors - before
        #expect(opened <= 8)
        // epoll_wait without a timeout: nothing but an event will wake it. The kernel says so; no need to wait and see.
        let thread = try #require(Self.threads.first)
        var call: [Substring] = []
        var isAsleepForGood = false
        while !isAsleepForGood, ContinuousClock.now < deadline {
            sched_yield()
            let text = SmallFile.text(at: "/proc/self/task/\(thread)/syscall", limit: 256) ?? ""
            call = text.split(whereSeparator: \.isWhitespace)
            isAsleepForGood = call.count > 4 && call[4].hasPrefix("0xffffffff")
        }
        print("lifecycle: 1,000 subscribers, 1 thread, \(opened) descriptors, asleep in system call \(call.first ?? "?") without a timeout")
        #expect(isAsleepForGood, "\(call)")
        for subscription in subscriptions { subscription.cancel() }
    }

    private final class Counter: Sendable {
        let count: Atomic<Int>
        init(_ count: consuming Atomic<Int>) { self.count = count }
    }
}
