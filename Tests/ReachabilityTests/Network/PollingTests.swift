import CleanSlate
import Foundation
import Glibc
import Testing

@testable import Reachability

/// What is seen without netlink, and when.
@Suite(.leavesNothing, .enabled(if: TestNetwork.isAvailable, TestNetwork.obstacle ?? ""), .timeLimit(.minutes(5)))
struct PollingTests {
    /// connect(2) succeeds with the cable out: the interfaces have to be as fresh as the question.
    @Test func aLookBetweenPollsIsFresh() async throws {
        try await TestNetwork.run(.ipv4) { network in
            try network.addUplink()
            try network.waitForCarriers(["v0"])
            let monitor = network.monitor { $0.pollingInterval = .seconds(3600) }
            let address = monitor.monitor(for: .address(IPAddress(192, 0, 2, 7)))
            try Sandbox.run(refusing: Sandbox.withoutNetlink) { try monitor.start() }
            #expect(monitor.backend == .polling(interval: .seconds(3600)) && monitor.currentPath?.isSatisfied == true)
            try network.ip("link set p0 down")
            try network.waitForLostCarrier("v0")
            try Sandbox.run(refusing: Sandbox.withoutNetlink) { try address.start() }
            #expect(address.currentPath?.status == .unsatisfied(.noCarrier))
        }
    }

    @Test func moreAddressesThanFitAtFirstAreAllRead() async throws {
        try await TestNetwork.run { network in
            let (fourth, sixth) = (1200, 5000)
            try network.batch((0..<fourth).map { "addr add 10.200.\($0 / 250).\($0 % 250 + 1)/32 dev lo" })
            try network.batch((0..<sixth).map { "addr add fd77::\(String($0 + 1, radix: 16))/128 dev lo nodad" })
            try network.addUplink()
            let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            defer { close(descriptor) }
            let (addresses, names) = try ConnectRoute.interfaceAddresses(descriptor)
            // Those of the loopback and of the uplink itself, too.
            #expect(addresses.count { $0.address.family == .v4 } == fourth + 2)
            #expect(addresses.count { $0.address.family == .v6 && !$0.address.isLinkLocal } == sixth + 2)
            #expect(names.keys.contains("v0"))
        }
    }

    @Test func allLoopbackAddressesAreThisHost() async throws {
        try await TestNetwork.run { network in
            for text in ["127.0.0.1", "127.0.0.2", "127.255.0.9", "::1"] {
                let monitor = network.monitor(try #require(NetworkPath.Target(text)))
                try Sandbox.run(refusing: Sandbox.withoutNetlink) { try monitor.start() }
                #expect(monitor.currentPath?.isSatisfied == true, "\(text)")
                #expect(monitor.currentPath?.usesInterfaceKind(.loopback) == true)
            }
        }
    }

    @Test func anIntervalOfNothingIsNoBusyLoop() async throws {
        try await TestNetwork.run(.ipv4) { network in
            try network.addUplink()
            for interval in [Duration.zero, .seconds(-1)] {
                let monitor = network.monitor { $0.pollingInterval = interval }
                let began = ContinuousClock.now
                try Sandbox.run(refusing: Sandbox.withoutNetlink) { try monitor.start() }
                let recorder = Recorder(monitor)
                network.setUp(false, "v0")
                recorder.expect { !$0.isSatisfied }
                let evaluations = monitor.statistics.evaluations
                // One look in 10 ms at most, and what the starts and the subscription asked for.
                let most = (ContinuousClock.now - began) / .milliseconds(10) + 10
                #expect(Double(evaluations) <= most, "\(evaluations) looks")
                monitor.stop()
                network.setUp(true, "v0")
                try network.ip("route replace default via 10.9.0.2 dev v0")
            }
        }
    }
}
