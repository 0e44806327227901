import CleanSlate
import Glibc
import Testing

@testable import Reachability

/// The changes of which the kernel says little or nothing: those that monitors which copy the routing table miss (RCH-5).
@Suite(.leavesNothing, .enabled(if: TestNetwork.isAvailable, TestNetwork.obstacle ?? ""), .timeLimit(.minutes(5)))
struct SilentChangeTests {
    /// Everything is quiet before the change: an event left over from the preparations would make the monitor look again for no merit of
    /// its own.
    private func check(
        _ stack: TestNetwork.Stack, prepared prepare: @escaping @Sendable (TestNetwork) throws -> Void = { _ in },
        after change: @escaping @Sendable (TestNetwork) throws -> Void, becomes expected: @escaping @Sendable (NetworkPath) -> Bool,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        try await TestNetwork.run(stack) { network in
            network.skipDuplicateDetection()
            try network.addUplink()
            try prepare(network)
            let gate = GateHint()
            let monitor = network.monitor { $0.meteredHint = gate }
            try monitor.start()
            let recorder = Recorder(monitor)
            recorder.expect {
                $0.isSatisfied && $0.supportsIPv4 == network.hasIPv4 && $0.supportsIPv6 == network.hasIPv6
                    && $0.interfaces.map(\.name) == ["v0"]
            }
            try network.waitForCarriers(["v0", "p0"])
            for _ in 0..<2 { _ = gate.threadTime { monitor.refresh() } }
            #expect(monitor.backend == .netlink)
            try change(network)
            recorder.expect(10, location, isRight: expected)
        }
    }

    @Test(arguments: TestNetwork.Stack.allCases) func carrierLost(_ stack: TestNetwork.Stack) async throws {
        try await check(stack) {
            try $0.ip("link set p0 down")
        } becomes: {
            $0.status == .unsatisfied(.noCarrier)
        }
    }

    @Test(arguments: TestNetwork.Stack.allCases) func linkTakenDown(_ stack: TestNetwork.Stack) async throws {
        try await check(stack) {
            try $0.ip("link set v0 down")
        } becomes: {
            $0.status == .unsatisfied(.noRoute)
        }
    }

    @Test(arguments: TestNetwork.Stack.allCases) func addressDeleted(_ stack: TestNetwork.Stack) async throws {
        try await check(stack) { network in
            if network.hasIPv4 { try network.ip("addr del 10.9.0.1/24 dev v0") }
            if network.hasIPv6 { try network.ip("addr del fd01::1/64 dev v0") }
        } becomes: {
            !$0.isSatisfied
        }
    }

    @Test(arguments: TestNetwork.Stack.allCases) func nextHopDeleted(_ stack: TestNetwork.Stack) async throws {
        let prepare: @Sendable (TestNetwork) throws -> Void = { network in
            if network.hasIPv4 {
                try network.ip("route del default")
                try network.ip("nexthop add id 1 via 10.9.0.2 dev v0")
                try network.ip("route add default nhid 1")
            }
            if network.hasIPv6 {
                try network.ip("-6 route del default")
                try network.ip("nexthop add id 2 via fd01::2 dev v0")
                try network.ip("-6 route add default nhid 2")
            }
        }
        try await check(stack, prepared: prepare) { network in
            if network.hasIPv4 { try network.ip("nexthop del id 1") }
            if network.hasIPv6 { try network.ip("nexthop del id 2") }
        } becomes: {
            $0.status == .unsatisfied(.noRoute)
        }
    }

    /// The kernel tells of both before it takes the routes away, of which it then says nothing: after the first look comes another one.
    @Test(arguments: ["nexthop del id 1", "addr del 10.9.0.1/24 dev v0"]) func whatIsToldOfTooEarly(_ change: String) async throws {
        try await TestNetwork.run(.ipv4) { network in
            try network.addUplink()
            let monitor = network.monitor()
            try monitor.start()
            let recorder = Recorder(monitor)
            for _ in 0..<100 {
                try network.batch([
                    "addr replace 10.9.0.1/24 dev v0", "nexthop replace id 1 via 10.9.0.2 dev v0", "route replace default nhid 1",
                ])
                recorder.expect { $0.isSatisfied }
                let looks = monitor.statistics.evaluations
                try network.ip(change)
                recorder.expect { !$0.isSatisfied }
                // A look that finds nothing new is told to nobody: it shows in the count alone.
                let deadline = ContinuousClock.now + .seconds(10)
                while monitor.statistics.evaluations < looks + 2, ContinuousClock.now < deadline { usleep(1000) }
                let more = monitor.statistics.evaluations - looks
                #expect(more >= 2)
            }
        }
    }

    @Test(arguments: TestNetwork.Stack.allCases) func ruleAdded(_ stack: TestNetwork.Stack) async throws {
        try await check(stack) { network in
            if network.hasIPv4 { try network.ip("rule add to 0/0 unreachable") }
            if network.hasIPv6 { try network.ip("-6 rule add to ::/0 unreachable") }
            // A rule's "unreachable" answers ENETUNREACH, unlike a route's.
        } becomes: {
            $0.status == .unsatisfied(.noRoute)
        }
    }

    @Test(arguments: TestNetwork.Stack.allCases) func routeReplaced(_ stack: TestNetwork.Stack) async throws {
        try await check(stack) { network in
            if network.hasIPv4 { try network.ip("route replace default via 10.9.0.77 dev v0") }
            if network.hasIPv6 { try network.ip("-6 route replace default via fd01::77 dev v0") }
        } becomes: { path in
            path.isSatisfied && !path.gateways.isEmpty && path.gateways.allSatisfy { "\($0)".hasSuffix("77") }
        }
    }

    /// On an IPv4-only host there is no DELROUTE and no DELADDR that would tell it; with IPv6 there is, which hides the hole.
    @Test(arguments: TestNetwork.Stack.allCases) func linkRemoved(_ stack: TestNetwork.Stack) async throws {
        try await check(stack) {
            try $0.ip("link del v0")
        } becomes: {
            $0.status == .unsatisfied(.noRoute) && $0.interfaces.isEmpty
        }
    }

    @Test(arguments: TestNetwork.Stack.allCases) func everythingComesBack(_ stack: TestNetwork.Stack) async throws {
        try await check(stack) { network in
            network.setUp(false, "v0")
            network.setUp(true, "v0")
            if network.hasIPv4 { try network.ip("route replace default via 10.9.0.2 dev v0") }
            if network.hasIPv6 {
                try network.ip("addr replace fd01::1/64 dev v0 nodad")
                try network.ip("-6 route replace default via fd01::2 dev v0")
            }
        } becomes: { path in
            path.isSatisfied && path.supportsIPv4 == (stack != .ipv6) && path.supportsIPv6 == (stack != .ipv4)
        }
    }
}
