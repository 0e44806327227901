import CleanSlate
import Foundation
import ScopedNet
import ScopedNetTesting
import Testing

/// Cycles that nothing points to any more. Only the address sanitizer sees them: `Scripts/test` runs this suite under it.
@Suite(.leavesNothing(objects: false), .enabled(if: UnreachableHeap.isChecked, "needs the address sanitizer"), .serialized)
struct UnreachableHeapTests {
    /// In a process of its own: what leaked would stay.
    @Test func aCycleIsFound() async {
        await #expect(processExitsWith: .exitCode(17)) {
            guard !UnreachableHeap.hasLeaks() else { exit(1) }
            Cycle.make()
            // What is still in a register or on the stack is reachable: cover it.
            Cycle.cover()
            // At the exit the sanitizer would say so again, with a code of its own.
            _exit(UnreachableHeap.hasLeaks() ? 17 : 2)
        }
    }

    @Test(.noLeaks) func cleanCodePasses() async throws {
        let session = mockedSession(MockTransport { _ in .ok() })
        _ = try await session.request("http://h/").value()
    }
}

/// An object that holds itself, and nobody else does.
final class Cycle: @unchecked Sendable {
    // Safety: one thread makes it and nobody reaches it afterwards.
    var own: Cycle?
    var bytes = [UInt8](repeating: 1, count: 1 << 12)

    @inline(never) static func make() {
        for _ in 0..<16 {
            let cycle = Cycle()
            cycle.own = cycle
        }
    }

    @inline(never) static func cover() {
        withUnsafeTemporaryAllocation(byteCount: 1 << 14, alignment: 16) { memory in
            for index in memory.indices { memory[index] = 0 }
        }
    }
}
