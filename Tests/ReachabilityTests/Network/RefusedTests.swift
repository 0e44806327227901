import CNetlink
import CleanSlate
import Foundation
import Testing

@testable import Reachability

/// A sandbox that refuses netlink: the answers stay right, a little later.
@Suite(.leavesNothing, .enabled(if: TestNetwork.isAvailable, TestNetwork.obstacle ?? ""), .timeLimit(.minutes(2)))
struct RefusedTests {
    enum Call: String, Sendable, CaseIterable { case socket, bind }

    /// Refuses netlink to this thread and what it starts.
    private static func refuse(_ call: Call, _ code: Int32) -> Bool {
        #if arch(arm64)
        let number: UInt32 = call == .socket ? 198 : 200
        #else
        let number: UInt32 = call == .socket ? 41 : 49
        #endif
        let load: UInt16 = 0x20
        let jumpIfEqual: UInt16 = 0x15
        let give: UInt16 = 0x06
        var program = [
            sock_filter(code: load, jt: 0, jf: 0, k: 0),
            sock_filter(code: jumpIfEqual, jt: 0, jf: 3, k: number),
            // The first argument: a socket's family; of bind, whose address a filter cannot read, every call is refused.
            sock_filter(code: load, jt: 0, jf: 0, k: 16),
            sock_filter(code: jumpIfEqual, jt: 0, jf: call == .socket ? 1 : 0, k: UInt32(AF_NETLINK)),
            sock_filter(code: give, jt: 0, jf: 0, k: 0x0005_0000 | UInt32(code)),
            sock_filter(code: give, jt: 0, jf: 0, k: 0x7fff_0000),
        ]
        let count = UInt16(program.count)
        return program.withUnsafeMutableBufferPointer { instructions in
            var filter = sock_fprog(len: count, filter: instructions.baseAddress)
            return cnl_filter_system_calls(&filter) == 0
        }
    }

    @Test(arguments: [(Call.socket, EAFNOSUPPORT), (.socket, EPERM), (.socket, EACCES), (.bind, EACCES)], TestNetwork.Stack.allCases)
    func theAnswersStayRight(_ refusal: (Call, Int32), _ stack: TestNetwork.Stack) async throws {
        try await TestNetwork.run(stack) { network in
            try network.addUplink()
            let monitor = network.monitor()
            let outcome = Lock<String?>(nil)
            let started = Slot(outcome)
            let thread = try SystemThread.spawn {
                guard Self.refuse(refusal.0, refusal.1) else { return started.lock.withLock { $0 = "no filter" } }
                do {
                    try monitor.start()
                    started.lock.withLock { $0 = "" }
                } catch {
                    started.lock.withLock { $0 = "\(error)" }
                }
            }
            pthread_join(thread, nil)
            #expect(started.lock.withLock { $0 } == "")
            #expect(monitor.backend == .polling(interval: .milliseconds(500)))
            let recorder = Recorder(monitor)
            func becomes(_ what: String, _ isRight: (NetworkPath) -> Bool) {
                let began = ContinuousClock.now
                let became = recorder.wait(until: isRight)
                #expect(became, "\(what): \(String(describing: monitor.currentPath))")
                // The carrier itself comes and goes up to a second late.
                let took = ContinuousClock.now - began
                if !Environment.isSanitized { #expect(took <= .milliseconds(1900), "\(what)") }
            }
            becomes("start") { $0.isSatisfied && $0.supportsIPv4 == network.hasIPv4 && $0.supportsIPv6 == network.hasIPv6 }
            #expect(monitor.currentPath?.interfaces.map(\.name) == ["v0"])
            try network.ip("link set p0 down")
            becomes("carrier lost") { $0.status == .unsatisfied(.noCarrier) }
            try network.ip("link set p0 up")
            becomes("carrier back") { $0.isSatisfied }
            try network.ip("link set v0 down")
            becomes("taken down") { !$0.isSatisfied }
        }
    }

    final class Slot<Value>: Sendable {
        let lock: Lock<Value>
        init(_ lock: consuming Lock<Value>) { self.lock = lock }
    }
}
