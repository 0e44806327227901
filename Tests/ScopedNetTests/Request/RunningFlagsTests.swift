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
        // Many, because threads of other tests take freed memory, too.
        let left = Self.leaveTasks(ofOwners: 64)
        var elsewhere: [Owner] = []
        var found: (owner: Owner, task: RunningFlags.Part)?
        while found == nil, elsewhere.count < 100_000 {
            let owner = Owner()
            if let task = left[ObjectIdentifier(owner)] { found = (owner, task) } else { elsewhere.append(owner) }
        }
        let (next, former) = try #require(found.map { ($0.owner, $0.task) }, "no owner was made at the address of a former one")
        let load = RunningFlags.begin(next, \Owner.isLoading)
        #expect(!RunningFlags.end(former))
        #expect(RunningFlags.end(load))
        // The same without a task of the new owner's.
        #expect(!RunningFlags.end(former))
        for task in left.values { _ = RunningFlags.end(task) }
    }

    @Test func ofAnOwnerThatHasGoneNothingStays() {
        for task in Self.leaveTasks(ofOwners: 1).values {
            #expect(RunningFlags.end(task))
            #expect(!RunningFlags.end(task))
        }
    }

    /// Of owners that are gone when this returns, by their addresses.
    private static func leaveTasks(ofOwners count: Int) -> [ObjectIdentifier: RunningFlags.Part] {
        let owners = (0..<count).map { _ in Owner() }
        return Dictionary(uniqueKeysWithValues: owners.map { (ObjectIdentifier($0), RunningFlags.begin($0, \Owner.isLoading)) })
    }
}
