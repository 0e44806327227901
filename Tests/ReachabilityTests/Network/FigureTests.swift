import CleanSlate
import Foundation
import SystemSupport
import Testing

@testable import Reachability

/// Figures that are printed, and held against their bars where nothing slows the process down.
@Suite(.leavesNothing, .enabled(if: TestNetwork.isAvailable, TestNetwork.obstacle ?? ""), .serialized, .timeLimit(.minutes(5)))
struct FigureTests {
    private final class Stopwatch: @unchecked Sendable {
        // Safety: under the lock.
        private let lock = NSLock()
        private var ends: [String: ContinuousClock.Instant] = [:]
        func note(_ name: String) {
            let now = ContinuousClock.now
            lock.withLock { if ends[name] == nil { ends[name] = now } }
        }
        func end(_ name: String) -> ContinuousClock.Instant? { lock.withLock { ends[name] } }
        func clear() { lock.withLock { ends = [:] } }
    }

    /// Routes that are added and deleted again, a hundred at once and then a pause, until it ends.
    private final class Storm: Sendable {
        private let isOver = DispatchSemaphore(value: 0)
        private let ended = DispatchSemaphore(value: 0)
        private let written = Lock(0)

        init(on network: TestNetwork) throws {
            try network.ip("link add storm0 type veth peer name storm1")
            try network.batch(["link set storm1 up", "link set storm0 up"])
            // A thread belongs to the namespace of the one that makes it.
            try SystemThread.start(name: "reachability") { [self] in
                if let writer = try? RouteWriter(interface: "storm0") { blow(writer) }
                ended.signal()
            }
        }

        private func blow(_ writer: borrowing RouteWriter) {
            var start = 0
            while isOver.wait(timeout: .now() + .milliseconds(1)) == .timedOut {
                let routes = Array(RouteWriter.manyRoutes(start + 100).dropFirst(start))
                writer.write(.add, routes)
                writer.write(.delete, routes)
                written.withLock { $0 += 200 }
                start = (start + 100) % 10_000
            }
        }

        /// - Returns: how many routes came and went.
        @discardableResult
        func end() -> Int {
            isOver.signal()
            ended.wait()
            ended.signal()
            return written.withLock { $0 }
        }
    }

    private static func report(_ what: String, _ stack: TestNetwork.Stack, _ times: [Duration]) {
        let times = times.sorted()
        let (p50, p99) = (times[times.count / 2], times[times.count * 99 / 100])
        print("latency, \(stack.rawValue): \(times.count) \(what): p50 \(p50), p99 \(p99), slowest \(times[times.count - 1])")
        // The bars are for optimised code on a machine that does nothing else; elsewhere others run, too.
        if Environment.holdsBars {
            #expect(p50 <= .microseconds(150) && p99 <= .milliseconds(2), "\(what), \(stack.rawValue): p50 \(p50), p99 \(p99)")
        } else if !Environment.isSanitized {
            #expect(p50 <= .milliseconds(50))
        }
    }

    /// With the settle rules as they are by default: a whole path is lost, and comes back when the window of that loss is over.
    @Test(arguments: TestNetwork.Stack.allCases, [false, true])
    func fromAdminDownToTheClosure(_ stack: TestNetwork.Stack, _ isInAStorm: Bool) async throws {
        try await TestNetwork.run(stack) { network in
            network.skipDuplicateDetection()
            try network.addUplink()
            let monitor = network.monitor()
            try monitor.start()
            let watch = Stopwatch()
            let subscription = monitor.observe { path, _ in if !path.isSatisfied { watch.note("lost") } }
            let recorder = Recorder(monitor)
            let isWhole: (NetworkPath) -> Bool = {
                $0.isSatisfied && $0.supportsIPv4 == network.hasIPv4 && $0.supportsIPv6 == network.hasIPv6
            }
            recorder.expect(isRight: isWhole)
            // While routes that lead elsewhere come and go on another link.
            let storm = try isInAStorm ? Storm(on: network) : nil
            defer { storm?.end() }
            let rounds = Environment.isSanitized || Environment.isQuick ? 20 : Environment.holdsBars ? 500 : 100
            var times: [Duration] = []
            for _ in 0..<rounds {
                watch.clear()
                let began = ContinuousClock.now
                network.setUp(false, "v0")
                recorder.expect { !$0.isSatisfied }
                if let end = watch.end("lost") { times.append(end - began) }
                network.setUp(true, "v0")
                try network.batch(network.uplinkAddresses())
                recorder.expect(isRight: isWhole)
            }
            subscription.cancel()
            #expect(times.count == rounds)
            Self.report("admin-downs to the closure" + (storm.map { " amid \($0.end()) routes" } ?? ""), stack, times)
        }
    }

    /// One uplink after the other dies, faster than any window, and the next takes over: none of it may wait.
    @Test(arguments: TestNetwork.Stack.allCases) func fromAdminDownToTheClosureThatNamesTheNextUplink(_ stack: TestNetwork.Stack)
        async throws
    {
        try await TestNetwork.run(stack) { network in
            let count = Environment.isSanitized ? 20 : 200
            network.skipDuplicateDetection()
            var lines: [String] = []
            for number in 0..<count {
                lines += ["link add v\(number) type veth peer name p\(number)", "link set p\(number) up", "link set v\(number) up"]
                lines += network.uplinkAddresses(number, metric: number + 1)
            }
            for start in stride(from: 0, to: lines.count, by: 200) {
                try network.batch(Array(lines[start..<min(start + 200, lines.count)]))
            }
            let monitor = network.monitor()
            try monitor.start()
            let watch = Stopwatch()
            let subscription = monitor.observe { path, _ in
                if path.interfaces.count == 1 { watch.note(path.interfaces[0].name) }
            }
            let recorder = Recorder(monitor)
            recorder.expect { $0.interfaces.map(\.name) == ["v0"] && $0.isSatisfied }
            var times: [Duration] = []
            for number in 0..<count - 1 {
                let next = "v\(number + 1)"
                let began = ContinuousClock.now
                network.setUp(false, "v\(number)")
                recorder.expect { $0.interfaces.map(\.name) == [next] }
                if let end = watch.end(next) { times.append(end - began) }
            }
            subscription.cancel()
            #expect(times.count == count - 1)
            Self.report("admin-downs in a row to the closure", stack, times)
        }
    }

    private static func threadTime() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// An address of its own for each name.
    private struct NumberedResolver: NameResolver {
        func addresses(of host: String) -> [IPAddress]? {
            Int(host.prefix { $0 != "." }).map { [IPAddress(192, 0, UInt8($0 >> 8), UInt8($0 & 255))] }
        }
    }

    enum Targets: String, Sendable, CaseIterable {
        case addresses, hosts
        func target(_ number: Int) -> NetworkPath.Target {
            switch self {
            case .addresses: .address(IPAddress(192, 0, UInt8(number >> 8), UInt8(number & 255)))
            case .hosts: .host("\(number).test")
            }
        }
    }

    @Test(arguments: Targets.allCases) func aThousandTargetsAreLookedAtAgain(_ targets: Targets) async throws {
        try await TestNetwork.run(.ipv4) { network in
            try network.addUplink()
            let base = network.monitor { $0.resolver = NumberedResolver() }
            let monitors = (0..<1000).map { base.monitor(for: targets.target($0)) }
            for monitor in monitors { try monitor.start() }
            let run = try #require(base.engine.run)
            #expect(run.members.count == 1000)
            // Hosts have their addresses by then.
            for monitor in monitors { Recorder(monitor).expect { $0.isSatisfied } }
            var best = Duration.seconds(100)
            for _ in 0..<5 {
                let began = Self.threadTime()
                for member in run.members { run.evaluate(member) }
                best = min(best, Self.threadTime() - began)
            }
            print("targets: 1,000 \(targets.rawValue) evaluated in \(best) of processor time")
            if Environment.holdsBars { #expect(best <= .milliseconds(10)) }
            if !Environment.isSanitized { #expect(best <= (Environment.isOptimised ? .milliseconds(20) : .milliseconds(100))) }
            let last = Recorder(monitors[999])
            network.setUp(false, "v0")
            last.expect { !$0.isSatisfied }
        }
    }
}
