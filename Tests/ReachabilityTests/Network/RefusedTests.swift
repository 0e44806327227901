import CleanSlate
import Foundation
import Testing

@testable import Reachability

/// A sandbox that refuses netlink: the answers stay right, a little later.
@Suite(.leavesNothing, .enabled(if: TestNetwork.isAvailable, TestNetwork.obstacle ?? ""), .timeLimit(.minutes(5)))
struct RefusedTests {
    private static let refusals: [Sandbox.Refusal] = [
        .init(.socket, EAFNOSUPPORT), .init(.socket, EPERM), .init(.socket, EACCES), .init(.bind, EACCES),
    ]

    /// It takes what it is asked, and never answers.
    @Test func aNetlinkThatStaysSilentIsAsGoodAsRefused() async throws {
        try await TestNetwork.run(.ipv4) { network in
            try network.addUplink()
            try network.waitForCarriers(["v0"])
            let monitor = network.monitor()
            try Sandbox.run(refusing: [.init(.sendto, 0)]) { try monitor.start() }
            #expect(monitor.backend == .polling(interval: .milliseconds(500)))
            Recorder(monitor).expect { $0.isSatisfied && $0.interfaces.map(\.name) == ["v0"] }
        }
    }

    @Test(arguments: refusals, TestNetwork.Stack.allCases)
    func theAnswersStayRight(_ refusal: Sandbox.Refusal, _ stack: TestNetwork.Stack) async throws {
        try await TestNetwork.run(stack) { network in
            try network.addUplink()
            try network.waitForCarriers(["v0"])
            let monitor = network.monitor()
            try Sandbox.run(refusing: [refusal]) { try monitor.start() }
            #expect(monitor.backend == .polling(interval: .milliseconds(500)))
            let recorder = Recorder(monitor)
            var slowest = Duration.zero
            /// Right with the second look at the latest, and a poll is every half second: the first may have begun before the change.
            func becomes(_ what: String, _ isRight: (NetworkPath) -> Bool) {
                let looks = monitor.statistics.evaluations
                let began = ContinuousClock.now
                let became = recorder.wait(until: isRight)
                let took = ContinuousClock.now - began
                #expect(became, "\(what): \(String(describing: monitor.currentPath))")
                let needed = monitor.statistics.evaluations - looks
                #expect(needed <= 2, "\(what): \(needed) looks")
                if Environment.holdsBars { #expect(took <= .seconds(1), "\(what)") }
                slowest = max(slowest, took)
            }
            becomes("start") { $0.isSatisfied && $0.supportsIPv4 == network.hasIPv4 && $0.supportsIPv6 == network.hasIPv6 }
            #expect(monitor.currentPath?.interfaces.map(\.name) == ["v0"])
            // From the moment the kernel knows of the carrier, of which it tells up to a second late.
            try network.ip("link set p0 down")
            try network.waitForLostCarrier("v0")
            becomes("carrier lost") { $0.status == .unsatisfied(.noCarrier) }
            try network.ip("link set p0 up")
            try network.waitForCarriers(["v0"])
            becomes("carrier back") { $0.isSatisfied }
            try network.ip("link set v0 down")
            becomes("taken down") { !$0.isSatisfied }
            print("refused: \(refusal.call) \(refusal.code), \(stack.rawValue): right within \(slowest)")
        }
    }
}
