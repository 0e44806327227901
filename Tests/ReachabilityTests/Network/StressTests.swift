import CleanSlate
import Foundation
import Testing

@testable import Reachability

/// Overruns and storms: when the kernel says more than one can read.
@Suite(.leavesNothing, .enabled(if: TestNetwork.isAvailable, TestNetwork.obstacle ?? ""), .serialized, .timeLimit(.minutes(5)))
struct StressTests {
    @Test func afterAnOverrunThePathIsRightAtOnce() async throws {
        try await TestNetwork.run(.ipv4) { network in
            try network.addUplink()
            try network.addUplink("1", metric: 500)
            let gate = GateHint()
            let monitor = network.monitor { configuration in
                configuration.meteredHint = gate
                configuration.receiveBuffer = 1
                configuration.requiredInterface = "v0"
            }
            try monitor.start()
            let recorder = Recorder(monitor)
            let rounds = Environment.isSoaking ? 1000 : 200
            var times: [Duration] = []
            var looks: [Duration] = []
            var failures = 0
            for round in 0..<rounds {
                let isUp = round % 2 == 1
                gate.close()
                var isDone = network.setUp(false, "v1")
                #expect(gate.waitUntilBlocked())
                // The queue is full after a few of these, and what follows is dropped.
                for toggle in 0..<10 where !network.setUp(toggle % 2 == 0, "v1") { isDone = false }
                if isUp {
                    let output = try network.batch(["addr add 10.9.0.1/24 dev v0", "route replace default via 10.9.0.2 dev v0"])
                    failures += TestNetwork.failures(in: output)
                } else {
                    try network.ip("addr del 10.9.0.1/24 dev v0")
                }
                if !network.setUp(true, "v1") || !isDone { failures += 1 }
                let began = ContinuousClock.now
                gate.open()
                recorder.expect { $0.isSatisfied == isUp }
                times.append(ContinuousClock.now - began)
                looks.append(try NetlinkKernel.timeOfALook())
            }
            let statistics = monitor.statistics
            times.sort()
            print(
                "overrun: \(rounds) rounds, \(statistics.overruns) overruns, right after \(times[rounds / 2]), \(times[rounds - 1]) at most"
            )
            #expect(failures == 0, "all that should have changed did")
            #expect(statistics.overruns >= UInt64(rounds) / 2)
            // Tests of other suites run at the same time: what they take from it they take from looks by hand, too.
            looks.sort()
            print("overrun: a look by hand \(looks[rounds / 2]), \(looks[rounds - 1]) at most")
            #expect(times[rounds / 2] <= looks[rounds / 2] * 300)
            if Environment.holdsBars { #expect(times[rounds - 1] <= .milliseconds(50)) }
        }
    }

    /// The routes are of IPv6 where there is nothing else.
    @Test(arguments: TestNetwork.Stack.allCases, [true, false])
    func aStormOfRoutesLosesNoDefault(_ stack: TestNetwork.Stack, _ isReplaced: Bool) async throws {
        try await TestNetwork.run(stack) { network in
            try network.addUplink()
            let gate = GateHint()
            let monitor = network.monitor { $0.meteredHint = gate }
            try monitor.start()
            let recorder = Recorder(monitor)
            recorder.expect { $0.isSatisfied }
            // The first look sets the filter; that it has is certain when the second begins.
            _ = gate.threadTime { monitor.refresh() }
            let idle = gate.threadTime { monitor.refresh() }
            var before = idle
            for _ in 0..<10 { before = gate.threadTime { monitor.refresh() } }
            let look = (before - idle) / 10
            let events = monitor.statistics.routeEvents
            let writer = try RouteWriter(interface: "v0")
            let family: IPAddress.Family = stack == .ipv6 ? .v6 : .v4
            let gateways = (family == .v4 ? ["10.9.0.2", "10.9.0.3"] : ["fd01::2", "fd01::3"]).compactMap { IPAddress($0) }
            let isRight: (NetworkPath) -> Bool = { $0.isSatisfied && $0.gateways.filter { $0.family == family } == [gateways[0]] }
            for flap in 0..<50 {
                writer.write(.add, Array(RouteWriter.manyRoutes(100_000, family).dropFirst(flap * 2000).prefix(2000)))
                if isReplaced {
                    writer.setDefault(.replace, gateway: gateways[(flap + 1) % 2])
                } else {
                    writer.setDefault(.delete, gateway: gateways[0])
                    writer.setDefault(.add, gateway: gateways[0])
                }
            }
            recorder.expect(isRight: isRight)
            // The path was right like that before the last flaps, too.
            let expected: UInt64 = isReplaced ? 50 : 100
            let deadline = ContinuousClock.now + .seconds(10)
            while monitor.statistics.routeEvents - events < expected, ContinuousClock.now < deadline { sched_yield() }
            let heard = monitor.statistics.routeEvents - events
            let time = gate.threadTime { monitor.refresh() } - before
            let way = isReplaced ? "replaced" : "deleted and added"
            print(
                "storm, \(stack.rawValue): 100,000 routes, 50 defaults \(way): \(heard) events, \(recorder.paths.count) paths told,",
                "\(time) of processor time, a look \(look)")
            recorder.expect(isRight: isRight)
            #expect(heard == expected)
            // No more than a look for each change of a default, and nothing for the other routes. 5 ms is the bar for optimised code on an idle
            // machine.
            if Environment.holdsBars { #expect(time <= .milliseconds(5)) }
            #expect(time <= look * Int(expected) * 4)
        }
    }

    /// Where all routes are heard their socket overflows in a storm, and the statistics say so.
    @Test func aStormThatOverflowsTheRoutesIsCounted() async throws {
        try await TestNetwork.run(.ipv4) { network in
            try network.addUplink()
            try network.addUplink("1", metric: 500)
            let gate = GateHint()
            let monitor = network.monitor { $0.meteredHint = gate }
            let others = (0..<100).map { monitor.monitor(for: .address(IPAddress(192, 0, 2, UInt8($0)))) }
            for other in others { try other.start() }
            try monitor.start()
            let recorder = Recorder(monitor)
            recorder.expect { $0.isSatisfied }
            let before = monitor.statistics.overruns
            gate.close()
            #expect(network.setUp(false, "v1"))
            #expect(gate.waitUntilBlocked())
            try RouteWriter(interface: "v0").write(.add, RouteWriter.manyRoutes(20_000))
            gate.open()
            _ = gate.threadTime { monitor.refresh() }
            withExtendedLifetime(others) {}
            let deadline = ContinuousClock.now + .seconds(10)
            while monitor.statistics.overruns == before, ContinuousClock.now < deadline { sched_yield() }
            #expect(monitor.statistics.overruns > before)
        }
    }

    /// A few targets have their place in the filter; with many a storm is but a trigger.
    @Test(arguments: [1, 100]) func aStormLeavesTargetsRight(_ count: Int) async throws {
        try await TestNetwork.run(.ipv4) { network in
            try network.addUplink()
            let gate = GateHint()
            let monitor = network.monitor(.address(IPAddress(11, 200, 0, 1))) { $0.meteredHint = gate }
            let others = (1..<count).map { monitor.monitor(for: .address(IPAddress(192, 0, 2, UInt8($0)))) }
            for other in others { try other.start() }
            try monitor.start()
            let recorder = Recorder(monitor)
            recorder.expect { $0.isSatisfied && $0.gateways == [IPAddress(10, 9, 0, 2)] }
            let before = gate.threadTime { monitor.refresh() }
            let writer = try RouteWriter(interface: "v0")
            writer.write(.add, RouteWriter.manyRoutes(100_000))
            try network.ip("route add 11.200.0.0/24 via 10.9.0.7 dev v0")
            recorder.expect { $0.gateways == [IPAddress(10, 9, 0, 7)] }
            let time = gate.threadTime { monitor.refresh() } - before
            let statistics = monitor.statistics
            print("storm, \(count) targets: \(statistics.routeEvents) events, \(statistics.evaluations) looks, \(time) of processor time")
            withExtendedLifetime(others) {}
            #expect(count > 1 ? statistics.routeEvents > 500 : statistics.routeEvents <= 10, "the filter keeps away what leads elsewhere")
        }
    }

    @Test func containersComeAndGoUnheard() async throws {
        try await TestNetwork.run(.dual) { network in
            try network.addUplink()
            let hasBridge = network.canMake("bridge")
            if hasBridge {
                try network.batch(["link add docker0 type bridge", "addr add 172.17.0.1/16 dev docker0", "link set docker0 up"])
            }
            let monitor = network.monitor()
            try monitor.start()
            let recorder = Recorder(monitor)
            recorder.expect { $0.isSatisfied && $0.supportsIPv4 && $0.supportsIPv6 }
            let generation = monitor.currentPath?.generation
            var failures = 0
            for number in 0..<100 {
                let output = try network.batch([
                    "link add c\(number) type veth peer name d\(number)", "link set c\(number) \(hasBridge ? "master docker0 " : "")up",
                    "addr add 172.17.0.\(number + 2)/16 dev d\(number)", "link set d\(number) up",
                    "route add 172.18.\(number).0/24 dev c\(number)", "link del c\(number)",
                ])
                failures += TestNetwork.failures(in: output)
            }
            #expect(failures == 0, "all of them came and went")
            // A change that is told comes after all of that.
            try network.ip("route replace default via 10.9.0.9 dev v0")
            recorder.expect { $0.gateways.contains(IPAddress(10, 9, 0, 9)) }
            #expect(monitor.currentPath?.generation == generation.map { $0 + 1 }, "\(recorder.paths)")
            print("containers: 100 starts and stops, \(monitor.statistics.events) events, 0 paths told")
        }
    }
}
