import CleanSlate
import Dispatch
import Testing

@testable import Reachability

/// IPv6 is claimed only with an address that is ready and leads beyond the link (RCH-5).
@Suite(.leavesNothing, .enabled(if: TestNetwork.isAvailable, TestNetwork.obstacle ?? ""), .timeLimit(.minutes(5)))
struct AddressTests {
    private func isTentative(_ network: TestNetwork, _ state: String = "tentative") throws -> Bool {
        try Command.run(["ip", "-6", "addr", "show", "dev", "v0", state]).output.contains(" fd01::1/")
    }

    @Test func notWhileTheOnlyAddressIsTentative() async throws {
        try await TestNetwork.run(.ipv6) { network in
            let monitor = network.monitor()
            try monitor.start()
            let recorder = Recorder(monitor)
            try network.ip("link add v0 type veth peer name p0")
            try network.batch(["link set p0 up", "link set v0 up", "addr add fd01::1/64 dev v0", "route add default via fd01::2 dev v0"])
            recorder.expect { $0.status == .unsatisfied(.addressNotReady) }
            recorder.expect { $0.supportsIPv6 }
            #expect(try !isTentative(network))
            let first = recorder.paths.first { $0.isSatisfied }
            #expect(first?.localAddresses.first == IPAddress("fd01::1"))
        }
    }

    @Test func notWhenTheOnlyAddressIsADuplicate() async throws {
        try await TestNetwork.run(.ipv6) { network in
            try network.ip("link add v0 type veth peer name p0")
            // The neighbour that has the address already lives elsewhere: here the kernel would simply use it.
            let neighbour = try network.addNeighbour()
            defer { neighbour.signal() }
            try network.ip("link set v0 up")
            let monitor = network.monitor()
            try monitor.start()
            let recorder = Recorder(monitor)
            try network.batch(["addr add fd01::1/64 dev v0", "route add default via fd01::2 dev v0"])
            let deadline = ContinuousClock.now + .seconds(6)
            while try !isTentative(network, "dadfailed"), ContinuousClock.now < deadline { recorder.waitForAnything(0.1) }
            #expect(try isTentative(network, "dadfailed"))
            recorder.expect { $0.status == .unsatisfied(.addressNotReady) }
            let claims = recorder.paths.filter(\.supportsIPv6)
            #expect(claims.isEmpty)
        }
    }

    @Test func notWithLinkLocalAddressesAlone() async throws {
        try await TestNetwork.run(.ipv6) { network in
            try network.ip("link add v0 type veth peer name p0")
            try network.batch(["link set p0 up", "link set v0 up", "route add default via fe80::2 dev v0"])
            let monitor = network.monitor()
            try monitor.start()
            let recorder = Recorder(monitor)
            recorder.expect { $0.status == .unsatisfied(.noAddress) }
            try network.ip("addr add fd01::1/64 dev v0 nodad")
            recorder.expect { $0.supportsIPv6 }
            let first = recorder.paths.first(where: \.supportsIPv6)
            #expect(first?.gateways.first?.isLinkLocal == true)
        }
    }

    @Test func notWithAnAutomaticPrivateAddressAlone() async throws {
        try await TestNetwork.run(.ipv4) { network in
            try network.ip("link add v0 type veth peer name p0")
            try network.batch(["link set p0 up", "link set v0 up", "addr add 169.254.7.7/16 dev v0", "route add default dev v0"])
            let monitor = network.monitor()
            try monitor.start()
            let recorder = Recorder(monitor)
            recorder.expect { $0.status == .unsatisfied(.noAddress) }
        }
    }
}
