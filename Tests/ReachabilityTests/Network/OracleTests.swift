import CleanSlate
import Foundation
import Testing

@testable import Reachability

/// Random changes; after each the path must be what `ip route get` and the carrier say (RCH-5).
@Suite(.leavesNothing, .enabled(if: TestNetwork.isAvailable, TestNetwork.obstacle ?? ""), .timeLimit(.minutes(60)))
struct OracleTests {
    /// What the kernel says, read by somebody else's program.
    struct Truth: Equatable, CustomStringConvertible {
        var families: [IPAddress.Family] = []
        var interfaces: [String] = []
        var gateways: [String] = []
        var sources: [String] = []

        init() {}

        init(_ path: NetworkPath) {
            if path.supportsIPv6 { families.append(.v6) }
            if path.supportsIPv4 { families.append(.v4) }
            guard path.isSatisfied else { return }
            interfaces = path.interfaces.map(\.name)
            gateways = path.gateways.map { String("\($0)".prefix { $0 != "%" }) }
            sources = path.localAddresses.map(\.description)
        }

        var description: String { "\(families) over \(interfaces) by \(gateways) from \(sources)" }
    }

    /// Of two next hops the kernel chooses by the address and a number drawn when it started: only about the same address have both to say the same.
    /// The first is the monitor's, the second is that of what the long prefix below catches the first of.
    private static let v4Samples = ("198.41.0.4", "192.33.4.12")

    private static func truth(_ network: TestNetwork) throws -> Truth {
        let questions = ["fibmatch \(v4Samples.0)", v4Samples.0, v4Samples.1, "2001:500:2::c"].map { "route get \($0)\n" }
        let output = try Command.run(["ip", "-o", "-force", "-batch", "-"], input: questions.joined() + "link show\n").output
        var carriers: Set<String> = []
        var truth = Truth()
        let lines = output.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        let isCaught = lines.contains { $0.first == "198.0.0.0/8" }
        let samples = [("2001:500:2::c", IPAddress.Family.v6), (isCaught ? v4Samples.1 : v4Samples.0, .v4)]
        for words in lines where words.count > 8 && words[0].hasSuffix(":") {
            guard let state = words.firstIndex(of: "state"), state + 1 < words.count else { continue }
            if words[state + 1] == "UP" { carriers.insert(String(words[1].prefix { $0 != "@" && $0 != ":" })) }
        }
        for (sample, family) in samples {
            guard let words = lines.first(where: { $0.first == sample }) else { continue }
            func value(_ key: String) -> String? { words.firstIndex(of: key).flatMap { $0 + 1 < words.count ? words[$0 + 1] : nil } }
            guard let device = value("dev"), carriers.contains(device), let source = value("src"), !source.hasPrefix("fe80"),
                source != "::1", source != "0.0.0.0"
            else { continue }
            truth.families.append(family)
            if !truth.interfaces.contains(device) { truth.interfaces.append(device) }
            truth.sources.append(source)
            if let gateway = value("via") { truth.gateways.append(gateway == "inet6" ? value("inet6") ?? "" : gateway) }
        }
        return truth
    }

    /// One command, some of which make no sense at the moment and fail.
    private static func operation(_ stack: TestNetwork.Stack, _ random: inout some RandomNumberGenerator) -> String {
        let n = Int.random(in: 0...1, using: &random)
        let common = [
            "link set v\(n) up", "link set v\(n) up", "link set v\(n) down", "link set p\(n) up", "link set p\(n) up",
            "link set p\(n) down",
            "link set v\(n) mtu \(Int.random(in: 1300...1500, using: &random))",
        ]
        let kind = ["unreachable", "blackhole", "prohibit", "throw"].randomElement(using: &random) ?? "unreachable"
        let v4 = [
            "addr replace 10.9.\(n).1/24 dev v\(n)", "addr replace 10.9.\(n).1/24 dev v\(n)", "addr del 10.9.\(n).1/24 dev v\(n)",
            "addr replace 10.8.\(n).1/24 dev v\(n)", "addr del 10.8.\(n).1/24 dev v\(n)",
            "route add default via 10.9.\(n).2 dev v\(n)", "route add default via 10.9.\(n).2 dev v\(n) metric 10\(n)",
            "route replace default via 10.9.\(n).2 dev v\(n)", "route replace default via 10.9.\(n).3 dev v\(n)", "route del default",
            "route add \(kind) default metric 5", "route del \(kind) default metric 5", "route del \(kind) default metric 5",
            "route add 0.0.0.0/1 dev v\(n)", "route add 128.0.0.0/1 dev v\(n)", "route del 128.0.0.0/1", "route del 128.0.0.0/1",
            "rule add to 0/0 unreachable pref 100", "rule del pref 100", "rule del pref 100",
            "rule add table 100 pref 90", "rule del pref 90", "route replace default via 10.9.\(n).4 dev v\(n) table 100",
            "route del default table 100", "nexthop replace id \(n + 1) via 10.9.\(n).2 dev v\(n)", "nexthop del id \(n + 1)",
            "route replace default nhid \(n + 1)", "route replace default nexthop via 10.9.0.2 dev v0 nexthop via 10.9.1.2 dev v1",
            "route add 198.0.0.0/8 via 10.9.\(n).6 dev v\(n)", "route del 198.0.0.0/8",
        ]
        let v6 = [
            "addr replace fd0\(n + 1)::1/64 dev v\(n) nodad", "addr replace fd0\(n + 1)::1/64 dev v\(n) nodad",
            "addr del fd0\(n + 1)::1/64 dev v\(n)",
            "-6 route add default via fd0\(n + 1)::2 dev v\(n)", "-6 route add default via fd0\(n + 1)::2 dev v\(n) metric 10\(n)",
            "-6 route replace default via fd0\(n + 1)::2 dev v\(n)", "-6 route replace default via fd0\(n + 1)::3 dev v\(n)",
            "-6 route add default via fe80::2 dev v\(n)", "-6 route del default", "-6 route del default",
            "-6 route add \(kind) default metric 5", "-6 route del \(kind) default metric 5", "-6 route del \(kind) default metric 5",
            "-6 route add 2000::/3 via fd0\(n + 1)::7 dev v\(n)", "-6 route del 2000::/3", "-6 route del 2000::/3",
            "-6 rule add to ::/0 unreachable pref 100", "-6 rule del pref 100", "-6 rule del pref 100",
            "nexthop replace id \(n + 11) via fd0\(n + 1)::2 dev v\(n)", "nexthop del id \(n + 11)",
            "-6 route replace default nhid \(n + 11)",
            "-6 route add 2001:503::/32 via fd0\(n + 1)::6 dev v\(n)", "-6 route del 2001:503::/32",
        ]
        let choices = common + common + (stack != .ipv6 ? v4 : []) + (stack != .ipv4 ? v6 : [])
        return choices.randomElement(using: &random) ?? "link show"
    }

    /// - Returns: whether an uplink came out of it.
    private static func repair(_ network: TestNetwork) throws -> Bool {
        var lines = ["link set v0 up", "link set p0 up", "link set v1 up", "link set p1 up", "rule del pref 100", "rule del pref 90"]
        lines += ["unreachable", "blackhole", "prohibit", "throw"].map { "route del \($0) default metric 5" }
        if network.hasIPv4 {
            lines += ["addr add 10.9.0.1/24 dev v0", "addr add 10.9.1.1/24 dev v1", "route replace default via 10.9.0.2 dev v0"]
        }
        if network.hasIPv6 {
            lines += ["addr add fd01::1/64 dev v0 nodad", "addr add fd02::1/64 dev v1 nodad", "route replace default via fd01::2 dev v0"]
            try? network.ip("-6 rule del pref 100")
            for kind in ["unreachable", "blackhole", "prohibit", "throw"] { try? network.ip("-6 route del \(kind) default metric 5") }
        }
        try network.batch(lines)
        return try ["-4", "-6"].contains { try Command.run(["ip", $0, "route", "show", "default"]).output.contains(" dev v0") }
    }

    @Test(arguments: TestNetwork.Stack.allCases) func thePathIsWhatTheKernelSays(_ stack: TestNetwork.Stack) async throws {
        let rounds = Environment.isSoaking ? 12_000 : Environment.isSanitized || Environment.isQuick ? 200 : 600
        let seed = Environment.seed ?? UInt64.random(in: 0...UInt64.max)
        try await TestNetwork.run(stack) { network in
            try network.addUplink()
            try network.addUplink("1", metric: 200)
            let monitor = network.monitor { $0.gainDelay = .zero }
            try monitor.start()
            let recorder = Recorder(monitor)
            var random = SplitMix(seed)
            var operations: [String] = []
            var mismatches = 0
            var (done, repairs, repaired, satisfied) = (0, 0, 0, 0)
            for round in 0..<rounds {
                if round % 25 == 24 {
                    // Left alone, chance ends with everything down and forbidden.
                    repairs += 1
                    if try Self.repair(network) { repaired += 1 }
                    operations.append("repair")
                } else {
                    operations.append(Self.operation(stack, &random))
                    if (try? network.ip(operations[operations.count - 1])) != nil { done += 1 }
                }
                var truth = try Self.truth(network)
                let deadline = ContinuousClock.now + .seconds(5)
                // The kernel tells of a carrier up to a second late.
                while monitor.currentPath.map(Truth.init) != truth, ContinuousClock.now < deadline {
                    recorder.waitForAnything(0.05)
                    truth = try Self.truth(network)
                }
                if !truth.families.isEmpty { satisfied += 1 }
                guard let path = monitor.currentPath, Truth(path) != truth else { continue }
                mismatches += 1
                Issue.record("\(stack), seed \(seed), round \(round): \(path), but \(truth), after \(operations.suffix(12))")
                if mismatches == 3 { break }
            }
            print(
                "oracle: \(stack), \(rounds) operations, \(done) of them done, a path in \(satisfied), \(recorder.paths.count) paths told,",
                "\(mismatches) mismatches")
            // That chance asks for what cannot be done is part of it; that nothing happens would be no test.
            #expect(mismatches > 0 || done > (rounds - repairs) / 2, "of \(rounds) operations only \(done) were done")
            #expect(repaired == repairs, "a repair leaves an uplink")
            #expect(mismatches > 0 || satisfied > rounds / 10 && satisfied < rounds, "paths come and go")
        }
    }
}

struct SplitMix: RandomNumberGenerator {
    private var state: UInt64
    init(_ seed: UInt64) { state = seed }
    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
        return value ^ value >> 31
    }
}
