#if Images
import CleanSlate
import Glibc
import Testing

@testable import ScopedNetImages

extension IsolationTests {
    /// A helper is ended as itself, and not as whatever has its number.
    @Suite(.leavesNothing, .onOwnThread, .timeLimit(.minutes(3))) struct ProcessHandleTests {
        typealias I = IsolationSamples

        /// Another part of the program has waited for it, so that its number may be that of another process.
        @Test func aHelperThatWasReapedElsewhereIsLeftAlone() throws {
            let process = try HelperProcess(path: I.helperPath, addressSpace: 1 << 30)
            kill(process.pid, SIGKILL)
            var status: Int32 = 0
            #expect(waitpid(process.pid, &status, 0) == process.pid)
            #expect(process.end() == .unknown)
            #expect(process.hasEnded)
        }

        @Test func anEndIsTold() throws {
            let killed = try HelperProcess(path: I.helperPath, addressSpace: 1 << 30)
            #expect(killed.end() == .signal(SIGKILL))
            #expect(killed.end() == .signal(SIGKILL))
            try I.withScript("#!/bin/sh\nexit 7\n") { path in
                let ended = try HelperProcess(path: path, addressSpace: 1)
                let hasEnded = ended.socket.waitForMessage(milliseconds: 60_000)
                let ending = ended.end()
                #expect(hasEnded && ending == .status(7))
            }
        }

        /// The descriptor of a process goes with it.
        @Test func noDescriptorIsLeft() throws {
            let before = I.descriptors()["anon_inode"] ?? 0
            do {
                let process = try HelperProcess(path: I.helperPath, addressSpace: 1 << 30)
                #expect(process.pid > 0)
                #expect(I.descriptors()["anon_inode"] ?? 0 >= before)
            }
            #expect(I.descriptors()["anon_inode"] ?? 0 <= before)
        }

        /// It has said something when there is no request yet: whether that is seen before the request goes out or after, it broke the protocol.
        @Test func aHelperThatSpeaksFirstIsRefused() throws {
            try I.withScript("#!/bin/sh\nprintf 1234 >&3\nexec sleep 5\n") { path in
                let process = try HelperProcess(path: path, addressSpace: 1)
                let hasSpoken = process.socket.waitForMessage(milliseconds: 60_000)
                let isAskable = process.socket.isQuiet
                #expect(hasSpoken && !isAskable)
                #expect(process.refusal() == .protocolError("it speaks before it is asked"))
                #expect(process.end() == .signal(SIGKILL))
            }
        }
    }
}
#endif
