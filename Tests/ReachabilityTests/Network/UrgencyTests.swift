import CleanSlate
import Foundation
import Testing

@testable import Reachability

/// What may pass the window between looks and what waits, with a window that outlasts the test.
@Suite(.leavesNothing, .enabled(if: TestNetwork.isAvailable, TestNetwork.obstacle ?? ""), .timeLimit(.minutes(5)))
struct UrgencyTests {
    /// A monitor whose thread looks once in an hour, but for losses, and stands in the one look that this hour has.
    private struct Held {
        let network: TestNetwork
        let gate: GateHint
        let monitor: ReachabilityMonitor

        init(_ network: TestNetwork) throws {
            let gate = GateHint()
            let monitor = network.monitor {
                $0.meteredHint = gate
                $0.lookWindow = .seconds(3600)
                $0.burstWindow = .zero
            }
            try monitor.start()
            (self.network, self.gate, self.monitor) = (network, gate, monitor)
            // Of 32 looks in a window this many are left.
            for _ in 0..<31 { _ = gate.threadTime { monitor.refresh() } }
            gate.close()
            monitor.refresh()
            #expect(gate.waitUntilBlocked())
        }
    }

    @Test func aLossThatComesWhileEverythingIsReadAfreshIsToldAtOnce() async throws {
        try await TestNetwork.run(.ipv4) { network in
            try network.addUplink()
            try network.waitForCarriers(["v0"])
            let held = try Held(network)
            let recorder = Recorder(held.monitor)
            // The thread finds both: the wish to read everything afresh, and the loss in the queue, which that reading empties.
            held.monitor.refresh()
            network.setUp(false, "v0")
            held.gate.open()
            recorder.expect { !$0.isSatisfied }
        }
    }

    @Test func anAddressNobodyUsesIsNoLossAndTheSourceOfAPathIs() async throws {
        try await TestNetwork.run(.ipv4) { network in
            try network.addUplink()
            try network.waitForCarriers(["v0"])
            try network.batch((0..<200).map { "addr add 10.50.0.\($0 + 1)/32 dev v0" })
            let held = try Held(network)
            let recorder = Recorder(held.monitor)
            let looks = held.monitor.statistics.evaluations
            let events = held.monitor.statistics.events
            held.gate.open()
            let output = try network.batch((0..<200).map { "addr del 10.50.0.\($0 + 1)/32 dev v0" })
            #expect(TestNetwork.failures(in: output) == 0)
            let deadline = ContinuousClock.now + .seconds(10)
            while held.monitor.statistics.events < events + 200, ContinuousClock.now < deadline { sched_yield() }
            #expect(held.monitor.currentPath?.isSatisfied == true)
            try network.ip("addr del 10.9.0.1/24 dev v0")
            recorder.expect { !$0.isSatisfied }
            let needed = held.monitor.statistics.evaluations - looks
            #expect(needed <= 2, "\(needed) looks")
        }
    }
}
