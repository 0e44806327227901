import CleanSlate
import Foundation
import ScopedNet
import ScopedNetTesting
import Synchronization
import Testing
import XCTest

/// What the XCTest forms say of code that leaks, read by running such test cases in a process of their own.
@Suite(.leavesNothing) struct LeakCheckedTestCaseFailureTests {
    private func output(of name: String) async throws -> String {
        let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
        let environment = ProcessInfo.processInfo.environment.merging([
            "SCOPEDNET_LEAK_ON_PURPOSE": "1", "ASAN_OPTIONS": "leak_check_at_exit=0",
        ]) { $1 }
        let result = try await ChildProcess([program, "ScopedNetTestingTests.LeakyCases/\(name)"], environment: environment).end()
        return result.output + result.errors
    }

    @Test func whatIsLeftAliveFailsTheTest() async throws {
        let text = try await output(of: "testLeavesARequestBehind")
        #expect(text.contains("left something alive"), "\(text)")
        #expect(text.contains("made at ScopedNetTestingTests/LeakyCases.swift:"))
        #expect(text.contains("referenced by you"))
        #expect(text.contains("with 1 failure"))
    }

    @Test func aForgottenStartFailsTheTest() async throws {
        let text = try await output(of: "testForgetsAStart")
        #expect(text.contains("the request for 'http://h/forgotten' was dropped without a start"), "\(text)")
        #expect(text.contains("onEnd at ScopedNetTestingTests/LeakyCases.swift:"))
        #expect(text.contains("with 1 failure"))
    }

    @Test(.enabled(if: UnreachableHeap.isChecked, "needs the address sanitizer")) func aCycleFailsTheTest() async throws {
        let text = try await output(of: "testLeavesACycleBehind")
        #expect(text.contains("Memory that nothing points to was found after LeakyCases.testLeavesACycleBehind"), "\(text)")
    }

    @Test func aTrackedObjectThatStaysFailsTheTest() async throws {
        let text = try await output(of: "testKeepsATrackedObject")
        #expect(text.contains("LeakyCases.swift:"), "\(text)")
        #expect(text.contains("Tracked is alive after its test."))
    }

    @Test(arguments: ["testAnOwnerStays", "testAnOwnerStaysInAnAsynchronousTest"]) func anOwnerThatStaysFailsTheTest(name: String)
        async throws
    {
        let text = try await output(of: name)
        #expect(text.contains("ClingingModel is still alive"), "\(text)")
        #expect(text.contains("onSuccess at ScopedNetTestingTests/Models.swift:25"))
    }

    @Test func anotherEndThatSeesNothingFailsTheTest() async throws {
        let text = try await output(of: "testAnotherEndSeesNothing")
        #expect(text.contains("The other end did not see the connections go within 0.02 seconds"), "\(text)")
        #expect(text.contains("LeakyCases.swift:"))
        #expect(text.contains("with 1 failure"))
        let other = try await output(of: "testAnotherEndCannotBeAsked")
        #expect(other.contains("The other end could not be asked: Unreachable()"), "\(other)")
    }

    @Test func aRequestThatOutlivesItsOwnerFailsTheTest() async throws {
        let text = try await output(of: "testARequestOutlivesItsOwner")
        #expect(text.contains("is it in the owner's bag?"), "\(text)")
    }
}
