import CleanSlate
import Foundation
import Glibc
import SystemSupport
import Testing

@testable import Reachability

/// Monitors of a namespace that is not the caller's, by netlink and without it.
@Suite(.leavesNothing, .enabled(if: TestNetwork.isAvailable, TestNetwork.obstacle ?? ""), .timeLimit(.minutes(5)))
struct NamespaceTests {
    /// Notes in which namespace it was asked.
    private final class PlaceResolver: NameResolver, Sendable {
        private let asked = Lock<Set<String>>([])
        var places: Set<String> { asked.withLock { $0 } }
        func addresses(of host: String) -> [IPAddress]? {
            let place = NamespaceTests.place ?? "?"
            asked.withLock { _ = $0.insert(place) }
            return [IPAddress(192, 0, 2, 1)]
        }
    }

    /// The namespace of this thread, as the kernel names it.
    private static var place: String? { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self/ns/net") }

    private static func openNamespace() throws -> Int32 {
        let descriptor = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw CommandFailure("open: \(String(cString: strerror(errno)))") }
        return descriptor
    }

    /// Closes it, and gives its number to another namespace: that of the calling thread.
    private static func replace(_ descriptor: Int32) throws {
        let other = try openNamespace()
        dup2(other, descriptor)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        close(other)
    }

    @Test(arguments: [true, false]) func theDescriptorMayBeClosedOnceStartHasReturned(_ hasNetlink: Bool) async throws {
        try await TestNetwork.run(.ipv4) { network in
            try network.addUplink()
            try network.waitForCarriers(["v0"])
            let place = Self.place
            let descriptor = try Self.openNamespace()
            defer { close(descriptor) }
            let resolver = PlaceResolver()
            let monitor = network.monitor {
                $0.namespace = .descriptor(descriptor)
                $0.resolver = resolver
            }
            let address = monitor.monitor(for: .address(IPAddress(192, 0, 2, 7)))
            let host = monitor.monitor(for: .host("service.test"))
            try Sandbox.run(refusing: hasNetlink ? [] : Sandbox.withoutNetlink, isElsewhere: true) {
                try monitor.start()
                try Self.replace(descriptor)
                try address.start()
                try host.start()
            }
            #expect(monitor.backend == (hasNetlink ? .netlink : .polling(interval: .milliseconds(500))))
            #expect(address.currentPath?.isSatisfied == true && address.currentPath?.interfaces.map(\.name) == ["v0"])
            Recorder(host).expect { $0.isSatisfied && $0.remoteAddresses == [IPAddress(192, 0, 2, 1)] }
            #expect(resolver.places == [place], "names are resolved where the monitor watches")
        }
    }

    /// That of the thread that began: who joins from elsewhere is told of the same network.
    @Test(arguments: [true, false]) func whoJoinsAMonitorsThreadIsToldOfTheSameNetwork(_ hasNetlink: Bool) async throws {
        try await TestNetwork.run(.ipv4) { network in
            try network.addUplink()
            try network.waitForCarriers(["v0"])
            let place = Self.place
            let resolver = PlaceResolver()
            let monitor = network.monitor { $0.resolver = resolver }
            let address = monitor.monitor(for: .address(IPAddress(192, 0, 2, 7)))
            let host = monitor.monitor(for: .host("service.test"))
            let refusals = hasNetlink ? [] : Sandbox.withoutNetlink
            try Sandbox.run(refusing: refusals) { try monitor.start() }
            try Sandbox.run(refusing: refusals, isElsewhere: true) {
                try address.start()
                try host.start()
            }
            #expect(address.currentPath?.isSatisfied == true && address.currentPath?.interfaces.map(\.name) == ["v0"])
            Recorder(host).expect { $0.isSatisfied && $0.remoteAddresses == [IPAddress(192, 0, 2, 1)] }
            #expect(resolver.places == [place], "names are resolved where the monitor watches")
        }
    }

    private func failure(_ monitor: ReachabilityMonitor) -> ReachabilityError.Code? {
        do throws(ReachabilityError) {
            try monitor.start()
            return nil
        } catch {
            return error.code
        }
    }

    /// Without netlink the way to the namespace is taken with every start: connect(2) asks that of its thread.
    @Test func aNamespaceThatMayNotBeEnteredIsAnErrorAlsoWhenPolling() async throws {
        try await TestNetwork.run(.ipv4) { network in
            try network.addUplink()
            let descriptor = try Self.openNamespace()
            defer { close(descriptor) }
            let monitor = network.monitor { $0.namespace = .descriptor(descriptor) }
            let address = monitor.monitor(for: .address(IPAddress(192, 0, 2, 7)))
            try Sandbox.run(refusing: Sandbox.withoutNetlink, isElsewhere: true) { try monitor.start() }
            let refused = try Sandbox.run(refusing: [.init(.setns, EPERM)], isElsewhere: true) { failure(address) }
            #expect(refused == .namespaceUnavailable)
            #expect(!address.isStarted && address.currentPath == nil && monitor.isStarted)
            try Sandbox.run(isElsewhere: true) { try address.start() }
            #expect(address.currentPath != nil)
        }
    }

    @Test func whatIsNoNamespaceIsAnError() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "namespace-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // Opening a FIFO waits for who writes to it, unless told otherwise.
        mkfifo(folder + "/fifo", 0o600)
        let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { close(null) }
        let places: [NetworkNamespace] = [
            .path(folder + "/fifo"), .path(folder), .path(folder + "/nothing"), .path(""), .path("/dev/null"), .path("/proc/self/ns/mnt"),
            .descriptor(null), .descriptor(-1), .descriptor(.max),
        ]
        for place in places {
            var configuration = ReachabilityMonitor.Configuration()
            configuration.namespace = place
            let monitor = ReachabilityMonitor(configuration: configuration)
            let code = failure(monitor)
            #expect(code == .namespaceUnavailable, "\(place)")
            #expect(!monitor.isStarted && monitor.currentPath == nil)
        }
    }
}
