import CleanSlate
import Foundation
import Glibc
import TestProcesses
import Testing

@testable import ScopedNetService

@Suite(.leavesNothing) struct SystemdTests {
    private static func abstractName() -> String { "@scopednet-test-\(getpid())-\(UUID().uuidString)" }

    @Test func oneDatagramHoldsAllMessages() async throws {
        let folder = try Folder()
        for name in [folder.path("notify"), Self.abstractName()] {
            let listener = try NotifyListener(name)
            let notifier = try SystemdNotifier(socket: listener.name)
            try notifier.notify(.ready, .status("satisfied IPv4 over eth0"))
            try notifier.notify(.watchdog)
            try notifier.notify([])
            try notifier.notify(.stopping)
            let received = [await listener.next(), await listener.next(), await listener.next()]
            #expect(received == ["READY=1\nSTATUS=satisfied IPv4 over eth0", "WATCHDOG=1", "STOPPING=1"])
        }
    }

    @Test func aStatusCannotForgeAnotherAssignment() {
        #expect(SystemdMessage.status("a\nREADY=1\r\u{1B}[K").description == "STATUS=a\\xAREADY=1\\xD\\x1B[K")
        #expect(SystemdMessage.status(String(repeating: "x", count: 5_000)).description.count == 2_048 + 7)
    }

    @Test(arguments: [
        "", "relative/path", "@", "vsock:2:1234", "/a\u{0}b", "/" + String(repeating: "x", count: 107),
        "@" + String(repeating: "x", count: 108),
    ])
    func whatIsNoAddressIsRefused(_ name: String) {
        let error = #expect(throws: SystemdError.self) { _ = try SystemdNotifier(socket: name) }
        #expect(error?.code == .invalidSocket)
    }

    @Test func theLongestNamesFit() throws {
        _ = try SystemdNotifier(socket: "/" + String(repeating: "x", count: 106))
        let listener = try NotifyListener("@" + String(repeating: "x", count: 107 - 20) + String(UUID().uuidString.suffix(20)))
        try SystemdNotifier(socket: listener.name).notify(.ready)
    }

    @Test func nobodyThereIsAnError() throws {
        let notifier = try SystemdNotifier(socket: Self.abstractName())
        let error = #expect(throws: SystemdError.self) { try notifier.notify(.ready) }
        #expect(error?.code == .unreachable)
    }

    /// A manager that does not read holds nobody up for long.
    @Test func aFullQueueIsAnErrorInTheEnd() throws {
        let listener = try NotifyListener(Self.abstractName())
        let notifier = try SystemdNotifier(socket: listener.name)
        var failure: SystemdError?
        for _ in 0..<10_000 where failure == nil {
            do throws(SystemdError) { try notifier.notify(.watchdog) } catch { failure = error }
        }
        #expect(failure?.code == .unreachable)
    }
}
