import CleanSlate
import Foundation
import Testing

@testable import Reachability

@Suite(.leavesNothing, .timeLimit(.minutes(5))) struct CompatibilityTests {
    private func path(_ status: NetworkPath.Status, _ kind: NetworkInterface.Kind? = nil) -> NetworkPath {
        var path = NetworkPath(status: status)
        path.interfaces = kind.map { [NetworkInterface(name: "x", index: 1, kind: $0)] } ?? []
        return path
    }

    // RCH-1, RCH-6
    @Test func fourStates() {
        typealias Status = NetworkReachabilityManager.Status
        #expect(Status(nil) == .unknown)
        #expect(Status(path(.unsatisfied(.resolving))) == .unknown)
        #expect(Status(path(.unsatisfied(.noRoute))) == .notReachable)
        #expect(Status(path(.requiresConnection)) == .notReachable)
        #expect(Status(path(.satisfied, .cellular)) == .reachableViaWWAN)
        for kind in [NetworkInterface.Kind.wired, .wifi, .vpn, .loopback] { #expect(Status(path(.satisfied, kind)) == .reachableViaWiFi) }
        #expect([Status.unknown, .notReachable, .reachableViaWWAN, .reachableViaWiFi].map(\.rawValue) == [-1, 0, 1, 2])
        #expect(Status.reachableViaWWAN.description == "Reachable via WWAN")
    }

    @Test func theStatusIsRightOnceItMonitors() throws {
        TestNetwork.raiseLoopback()
        let manager = try #require(NetworkReachabilityManager(domain: "http://127.0.0.1:8080/path"))
        #expect(manager.networkReachabilityStatus == .unknown && !manager.isReachable)
        let told = DispatchSemaphore(value: 0)
        manager.setReachabilityStatusChange { if $0 == .reachableViaWiFi { told.signal() } }
        manager.startMonitoring()
        #expect(manager.isReachable && manager.isReachableViaWiFi)
        #expect(told.wait(timeout: .now() + 10) == .success)
        manager.stopMonitoring()
        #expect(manager.isReachable, "the last status stays")
        #expect(NetworkReachabilityManager(domain: "") == nil)
    }

    @Test func listening() {
        TestNetwork.raiseLoopback()
        let manager = NetworkReachabilityManager(address: IPAddress(127, 0, 0, 1))
        let told = DispatchSemaphore(value: 0)
        #expect(manager.startListening { _ in told.signal() })
        #expect(told.wait(timeout: .now() + 10) == .success)
        manager.stopListening()
        #expect(!manager.monitor.isStarted)
    }

    @Test(.enabled(if: TestNetwork.isAvailable, TestNetwork.obstacle ?? "")) func closuresForBothSides() async throws {
        try await TestNetwork.run(.ipv4) { network in
            try network.addUplink()
            let notifier = ReachabilityNotifier()
            let up = DispatchSemaphore(value: 0)
            let down = DispatchSemaphore(value: 0)
            notifier.whenReachable = { if $0.connection == .wifi { up.signal() } }
            notifier.whenUnreachable = { _ in down.signal() }
            try notifier.startNotifier()
            #expect(up.wait(timeout: .now() + 10) == .success)
            network.setUp(false, "v0")
            #expect(down.wait(timeout: .now() + 10) == .success)
            #expect(notifier.connection == .unavailable)
            notifier.stopNotifier()
        }
    }
}
