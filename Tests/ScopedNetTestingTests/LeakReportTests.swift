import CleanSlate
import ScopedNetTesting
import Testing

@_spi(Census) @testable import ScopedNet

/// The verdicts, from what objects say of themselves.
@Suite(.leavesNothing) struct LeakReportTests {
    private final class Object: CensusMember {
        let censusState: CensusState
        init(_ change: (inout CensusState) -> Void) {
            var state = CensusState()
            change(&state)
            censusState = state
        }
    }

    private func report(_ objects: [(kind: LiveObjects.Kind, object: Object)]) -> LeakReport {
        // Not within the census of the test: these objects never die for it.
        let census = Census.unseen { LeakCensus() }
        for (index, item) in objects.enumerated() {
            let birth = CensusBirth(
                number: UInt64(index + 1), kind: item.kind, origin: "A.swift:\(index + 1)", name: "", closures: ["onSuccess at A.swift:9"],
                time: 0)
            census.born(birth, item.object)
        }
        return census.report()
    }

    @Test func aRunThatEndedAndIsInATableIsOurDefect() throws {
        let run = Object { state in
            state.isOver = true
            state.tables = ["its agent"]
        }
        let leak = try #require(report([(.run, run)]).leaks.first)
        #expect(leak.verdict == .endedButInTables)
        #expect(leak.description.contains("run 1: ended, but still in our tables; please report this"))
        #expect(leak.description.contains("held by its agent"))
        // Its closures were destroyed when it ended.
        #expect(leak.closures.isEmpty)
    }

    @Test func aRunInFlightHoldsWhatItHolds() {
        let session = Object { _ in }
        let run = Object { state in
            state.isInFlight = true
            state.holds = [1]
        }
        let leaks = report([(.session, session), (.run, run)]).leaks
        #expect(leaks.map(\.verdict) == [.heldByRun, .inFlight])
        #expect(leaks.first?.holders == ["run 2 (A.swift:2)"])
        #expect(leaks.last?.closures == ["onSuccess at A.swift:9"])
    }

    @Test func whatNobodyIsKnownToHoldIsYours() {
        let run = Object { $0.isOver = true }
        let bag = Object { _ in }
        #expect(report([(.run, run), (.bag, bag)]).leaks.map(\.verdict) == [.endedButReferenced, .referenced])
    }

    @Test func theHandlesOfARunAreNamed() {
        let run = Object { state in
            state.isInFlight = true
            state.handles = 1
            state.tables = ["its agent"]
        }
        let other = Object { state in
            state.isOver = true
            state.handles = 2
        }
        let leaks = report([(.run, run), (.run, other)]).leaks
        #expect(leaks.map(\.holders) == [["a handle (Run) of yours", "its agent"], ["2 handles (Run) of yours"]])
        // A handle is no table of the library's.
        #expect(leaks.map(\.verdict) == [.inFlight, .endedButReferenced])
    }

    @Test func nothingAliveIsSaidSo() {
        #expect(report([]).isEmpty)
        #expect(report([]).description == "nothing alive")
    }
}
