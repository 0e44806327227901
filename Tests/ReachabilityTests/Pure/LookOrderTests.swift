import CleanSlate
import Testing

@testable import Reachability

@Suite(.leavesNothing) struct LookOrderTests {
    private final class Run {}

    private func outcome(_ status: NetworkPath.Status) -> PathEvaluator.Outcome {
        PathEvaluator.Outcome(path: NetworkPath(status: status))
    }

    private func member(of run: Run) -> Member {
        let member = Member(target: .defaultPath, settle: SettleRule())
        member.state.withLock { state in
            state.begin()
            state.run = ObjectIdentifier(run)
        }
        return member
    }

    /// The first reading, made on the thread that starts, and a newer one of the monitor's thread, which is faster.
    @Test func ofTwoLooksTheLaterWins() {
        let run = Run()
        let member = member(of: run)
        #expect(member.commit(outcome(.unsatisfied(.noRoute)), ticket: 2, of: ObjectIdentifier(run), now: .zero) == .published)
        #expect(member.commit(outcome(.satisfied), ticket: 1, of: ObjectIdentifier(run), now: .seconds(1)) == .unchanged)
        #expect(member.current?.isSatisfied == false)
        #expect(member.commit(outcome(.satisfied), ticket: 3, of: ObjectIdentifier(run), now: .seconds(2)) == .published)
        #expect(member.current?.generation == 2)
    }

    @Test func whatAStoppedThreadFoundCountsNoMore() {
        let run = Run()
        let old = Run()
        let member = member(of: run)
        #expect(member.commit(outcome(.satisfied), ticket: 900, of: ObjectIdentifier(old), now: .zero) == .unchanged)
        #expect(member.commit(outcome(.unsatisfied(.noRoute)), ticket: 1, of: ObjectIdentifier(run), now: .zero) == .published)
        member.state.withLock { $0.isStarted = false }
        #expect(member.commit(outcome(.satisfied), ticket: 2, of: ObjectIdentifier(run), now: .zero) == .unchanged)
    }
}
