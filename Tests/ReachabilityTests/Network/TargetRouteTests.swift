import CNetlink
import CleanSlate
import Foundation
import SystemSupport
import Testing

@testable import Reachability

/// Addresses, hosts, marks, users and namespaces.
@Suite(.leavesNothing, .enabled(if: TestNetwork.isAvailable, TestNetwork.obstacle ?? ""), .timeLimit(.minutes(5)))
struct TargetRouteTests {
    /// Answers as it is told, or not at all.
    final class ScriptedResolver: NameResolver, @unchecked Sendable {
        // Safety: under the lock.
        private let lock = NSLock()
        private var answer: [IPAddress]?
        private var asked = 0

        var count: Int { lock.withLock { asked } }
        func set(_ answer: [IPAddress]?) { lock.withLock { self.answer = answer } }
        func addresses(of host: String) -> [IPAddress]? {
            lock.withLock {
                asked += 1
                return answer
            }
        }
    }

    // RCH-2
    @Test func loopbackIsReachableWithoutADefaultRoute() async throws {
        try await TestNetwork.run { network in
            for text in ["127.0.0.1", "::1", "http://localhost:8080/"] {
                let monitor = network.monitor(try #require(NetworkPath.Target(text)))
                try monitor.start()
                #expect(monitor.currentPath?.isSatisfied == true, "\(text)")
                #expect(monitor.currentPath?.usesInterfaceKind(.loopback) == true)
            }
            let monitor = network.monitor()
            try monitor.start()
            #expect(monitor.currentPath?.status == .unsatisfied(.noRoute))
        }
    }

    @Test func aMarkFollowsItsOwnRules() async throws {
        try await TestNetwork.run(.ipv4) { network in
            try network.addUplink()
            try network.addUplink("1", metric: 500)
            // As wg-quick does it.
            try network.batch([
                "route add default dev v1 table 51820", "rule add not fwmark 0xca6c table 51820",
                "rule add table main suppress_prefixlength 0",
            ])
            let plain = network.monitor()
            let marked = plain.monitor(for: NetworkPath.Target(.defaultPath, mark: 0xca6c))
            try plain.start()
            try marked.start()
            let recorder = Recorder(plain)
            recorder.expect { $0.interfaces.map(\.name) == ["v1"] }
            // The tunnel's own packets go by the main table.
            let other = Recorder(marked)
            other.expect { $0.interfaces.map(\.name) == ["v0"] }
            try network.ip("rule add fwmark 0xca6c prohibit pref 10")
            other.expect { $0.status == .unsatisfied(.prohibited) }
            #expect(plain.currentPath?.isSatisfied == true)
        }
    }

    @Test func aUserFollowsItsOwnRules() async throws {
        try await TestNetwork.run(.ipv4) { network in
            try network.addUplink()
            try network.ip("rule add uidrange 0-0 prohibit")
            let root = network.monitor(NetworkPath.Target(.defaultPath, uid: 0))
            try root.start()
            #expect(root.currentPath?.status == .unsatisfied(.prohibited))
            // Without root this is the only user there is.
            guard SmallFile.text(at: "/proc/self/uid_map", limit: 4096)?.contains("4294967295") == true else { return }
            let other = root.monitor(for: NetworkPath.Target(.defaultPath, uid: 12345))
            try other.start()
            let recorder = Recorder(other)
            recorder.expect { $0.isSatisfied }
        }
    }

    @Test func anAddressTakesItsOwnRoute() async throws {
        try await TestNetwork.run(.ipv4) { network in
            try network.addUplink()
            let monitor = network.monitor(.address(IPAddress(192, 0, 2, 7)))
            try monitor.start()
            let recorder = Recorder(monitor)
            recorder.expect { $0.isSatisfied && $0.remoteAddresses == [IPAddress(192, 0, 2, 7)] }
            try network.ip("route add blackhole 192.0.2.0/24")
            recorder.expect { $0.status == .unsatisfied(.blackhole) }
            try network.ip("route del blackhole 192.0.2.0/24")
            recorder.expect { $0.isSatisfied }
        }
    }

    @Test func aRouteThatThrowsOrARuleAboutOneSampleLeavesTheNetworkThere() async throws {
        try await TestNetwork.run { network in
            network.skipDuplicateDetection()
            try network.addUplink()
            let monitor = network.monitor()
            let recorder = Recorder(monitor)
            let isWhole: (NetworkPath) -> Bool = { $0.isSatisfied && $0.supportsIPv4 && $0.supportsIPv6 }
            for command in [
                "route add throw 198.41.0.0/24", "-6 route add throw 2001:503:ba3e::/48", "rule add to 192.33.4.12 unreachable",
                "-6 rule add to 2001:500:2::/48 unreachable",
            ] { try network.ip(command) }
            try monitor.start()
            recorder.expect(isRight: isWhole)
            for sample in ["198.41.0.4", "2001:503:ba3e::2:30", "192.33.4.12", "2001:500:2::c"] {
                let address = monitor.monitor(for: .host(sample))
                try address.start()
                #expect(address.currentPath?.status == .unsatisfied(.noRoute), "\(sample) itself is out of reach")
            }
            try network.ip("route del default")
            try network.ip("-6 route del default")
            recorder.expect { $0.status == .unsatisfied(.noRoute) }
        }
    }

    /// Of two hosts the one whose retry set the timer leaves; the other's comes all the same.
    @Test func aRetryIsNotLostWithTheHostBeforeIt() async throws {
        try await TestNetwork.run(.ipv4) { network in
            try network.addUplink()
            let resolver = ScriptedResolver()
            let first = network.monitor(.host("first.test")) { $0.resolver = resolver }
            let second = first.monitor(for: .host("second.test"))
            for monitor in [first, second] {
                try monitor.start()
                Recorder(monitor).expect { $0.status == .unsatisfied(.nameNotResolved) }
            }
            first.stop()
            resolver.set([IPAddress(192, 0, 2, 1)])
            Recorder(second).expect { $0.isSatisfied && $0.remoteAddresses == [IPAddress(192, 0, 2, 1)] }
        }
    }

    @Test func theOtherUplinkIsListedWhenThePreferredIsDead() async throws {
        try await TestNetwork.run(.ipv4) { network in
            try network.addUplink()
            try network.addUplink("1", metric: 500)
            let monitor = network.monitor()
            try monitor.start()
            let recorder = Recorder(monitor)
            recorder.expect { $0.interfaces.map(\.name) == ["v0"] && $0.isSatisfied }
            try network.ip("link set p0 down")
            recorder.expect { $0.status == .unsatisfied(.noCarrier) && $0.interfaces.map(\.name) == ["v0", "v1"] }
        }
    }

    @Test func aHostIsResolvedAgainWhenThePathChangesAndKeepsItsLastAddresses() async throws {
        try await TestNetwork.run(.ipv4) { network in
            try network.addUplink()
            let resolver = ScriptedResolver()
            let monitor = network.monitor(.host("service.test", port: 443)) { $0.resolver = resolver }
            try monitor.start()
            #expect([.unsatisfied(.resolving), .unsatisfied(.nameNotResolved)].contains(monitor.currentPath?.status))
            let recorder = Recorder(monitor)
            recorder.expect { $0.status == .unsatisfied(.nameNotResolved) }
            resolver.set([IPAddress(192, 0, 2, 1)])
            monitor.refresh()
            recorder.expect { $0.isSatisfied && $0.remoteAddresses == [IPAddress(192, 0, 2, 1)] }
            resolver.set([IPAddress(192, 0, 2, 2)])
            try network.ip("route replace default via 10.9.0.9 dev v0")
            recorder.expect { $0.remoteAddresses == [IPAddress(192, 0, 2, 2)] }
            resolver.set(nil)
            let asked = resolver.count
            try network.ip("route replace default via 10.9.0.8 dev v0")
            recorder.expect { $0.gateways == [IPAddress(10, 9, 0, 8)] }
            recorder.expect { _ in resolver.count > asked }
            #expect(monitor.currentPath?.remoteAddresses == [IPAddress(192, 0, 2, 2)], "a failure takes nothing away")
        }
    }

    @Test func aReplacedResolverFileIsSeen() async throws {
        try await TestNetwork.run(.ipv4) { network in
            try network.addUplink()
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("reachability-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            // The usual arrangement: a link, whose target is replaced by rename.
            let target = folder.appendingPathComponent("stub.conf")
            let link = folder.appendingPathComponent("resolv.conf")
            try Data("nameserver 172.31.9.9\n".utf8).write(to: target, options: .atomic)
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: target)
            try network.ip("route add unreachable 172.31.9.9")
            let resolver = ScriptedResolver()
            resolver.set([IPAddress(192, 0, 2, 1)])
            let monitor = network.monitor {
                $0.resolverFile = link.path
                $0.resolver = resolver
            }
            let host = monitor.monitor(for: .host("service.test"))
            try monitor.start()
            try host.start()
            let recorder = Recorder(monitor)
            recorder.expect { $0.isSatisfied && !$0.supportsDNS }
            let asked = resolver.count
            try Data("nameserver 10.9.0.53\n".utf8).write(to: target, options: .atomic)
            recorder.expect { $0.supportsDNS }
            let other = Recorder(host)
            other.expect { _ in resolver.count > asked }
        }
    }

    @Test func anotherNamespaceIsWatchedByPathAndByDescriptor() async throws {
        try await TestNetwork.run(.ipv4) { network in
            try network.addUplink()
            let path = "/proc/\(try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self"))/ns/net"
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            defer { close(descriptor) }
            // Started from a thread that lives elsewhere.
            for namespace in [NetworkNamespace.path(path), .descriptor(descriptor)] {
                let monitor = network.monitor { $0.namespace = namespace }
                let thread = try SystemThread.start(name: "reachability", isDetached: false) {
                    _ = cnl_unshare_network()
                    try? monitor.start()
                }
                pthread_join(thread, nil)
                let recorder = Recorder(monitor)
                recorder.expect { $0.isSatisfied && $0.interfaces.map(\.name) == ["v0"] }
                network.setUp(false, "v0")
                recorder.expect { !$0.isSatisfied }
                network.setUp(true, "v0")
                try network.ip("route replace default via 10.9.0.2 dev v0")
            }
            let monitor = network.monitor { $0.namespace = .path("/nonexistent") }
            #expect(throws: ReachabilityError.self) { try monitor.start() }
            #expect(monitor.currentPath == nil && !monitor.isStarted)
        }
    }
}
