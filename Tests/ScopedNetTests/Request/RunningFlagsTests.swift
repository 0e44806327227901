import CleanSlate
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct RunningFlagsTests {
    private final class Owner {
        var isLoading = false
        var isSaving = false
    }

    @Test func aFlagFallsWithTheLastOfItsTasks() {
        let owner = Owner()
        let loads = [RunningFlags.begin(owner, \Owner.isLoading), RunningFlags.begin(owner, \Owner.isLoading)]
        let save = RunningFlags.begin(owner, \Owner.isSaving)
        let other = Owner()
        let otherLoad = RunningFlags.begin(other, \Owner.isLoading)
        #expect(!RunningFlags.end(loads[0]))
        #expect(RunningFlags.end(save))
        #expect(RunningFlags.end(otherLoad))
        #expect(RunningFlags.end(loads[1]))
        // Once.
        #expect(!RunningFlags.end(loads[1]))
    }

    /// An owner goes while its task is under way, and the next one is made at its address: the end of the old task is none of a task of the new
    /// owner.
    @Test func theNextOwnerAtTheSameAddressHasFlagsOfItsOwn() throws {
        let (address, left) = Self.leaveATask()
        var elsewhere: [Owner] = []
        var found: Owner?
        while found == nil, elsewhere.count < 10_000 {
            let owner = Owner()
            if ObjectIdentifier(owner) == address { found = owner } else { elsewhere.append(owner) }
        }
        let next = try #require(found, "no owner was made at the address of the former")
        let load = RunningFlags.begin(next, \Owner.isLoading)
        #expect(!RunningFlags.end(left))
        #expect(RunningFlags.end(load))
        // The same without a task of the new owner's.
        #expect(!RunningFlags.end(left))
    }

    @Test func ofAnOwnerThatHasGoneNothingStays() {
        let (_, left) = Self.leaveATask()
        #expect(RunningFlags.end(left))
        #expect(!RunningFlags.end(left))
    }

    /// Of an owner that is gone when this returns.
    private static func leaveATask() -> (ObjectIdentifier, RunningFlags.Part) {
        let owner = Owner()
        return (ObjectIdentifier(owner), RunningFlags.begin(owner, \Owner.isLoading))
    }
}
