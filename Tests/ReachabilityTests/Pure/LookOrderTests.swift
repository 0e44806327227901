import CleanSlate
import Glibc
import SystemSupport
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
            _ = state.begin()
            state.run = ObjectIdentifier(run)
        }
        return member
    }

    /// Defect 39: the first reading, made on the thread that starts, and a newer one of the monitor's thread, which is faster.
    @Test func ofTwoLooksTheLaterWins() {
        let run = Run()
        let member = member(of: run)
        #expect(member.commit(outcome(.unsatisfied(.noRoute)), ticket: 2, of: ObjectIdentifier(run), now: .zero) == .published)
        #expect(member.commit(outcome(.satisfied), ticket: 1, of: ObjectIdentifier(run), now: .seconds(1)) == .unchanged)
        #expect(member.current?.isSatisfied == false)
        #expect(member.commit(outcome(.satisfied), ticket: 3, of: ObjectIdentifier(run), now: .seconds(2)) == .published)
        #expect(member.current?.generation == 2)
    }

    /// The answer of the resolver comes while the kernel is asked without it.
    @Test func aHostWhoseNameWasJustResolvedIsNotTakenForOneWithoutARoute() {
        let run = Run()
        let member = Member(target: .host("service.test"), settle: SettleRule())
        member.state.withLock { state in
            _ = state.begin()
            state.run = ObjectIdentifier(run)
            _ = state.resolution.want()
        }
        let question = member.question
        #expect(question.resolved.isEmpty)
        member.state.withLock { state in _ = state.resolution.finish([IPAddress(192, 0, 2, 1)], now: .zero) }
        // What comes of a question without an address.
        _ = member.commit(outcome(.unsatisfied(.noRoute)), ticket: 1, of: ObjectIdentifier(run), now: .zero)
        #expect(member.current?.status == .unsatisfied(.resolving))
        var found = outcome(.satisfied)
        found.path.remoteAddresses = [IPAddress(192, 0, 2, 1)]
        _ = member.commit(found, ticket: 2, of: ObjectIdentifier(run), now: .seconds(1))
        #expect(member.current?.status == .satisfied)
    }

    /// Out of memory is not out of reach.
    @Test func whatCouldNotBeAskedChangesNothing() {
        let run = Run()
        let member = member(of: run)
        let shortage = SystemFailure("route lookup", ENOBUFS)
        var failed = outcome(.unsatisfied(.noRoute))
        failed.shortage = shortage
        #expect(member.commit(failed, ticket: 1, of: ObjectIdentifier(run), now: .zero) == .unanswered(shortage))
        #expect(member.current == nil)
        #expect(member.commit(outcome(.satisfied), ticket: 2, of: ObjectIdentifier(run), now: .zero) == .published)
        #expect(member.commit(failed, ticket: 3, of: ObjectIdentifier(run), now: .seconds(1)) == .unanswered(shortage))
        #expect(member.current?.isSatisfied == true)
    }

    @Test func onlyLossesOfWhatAToldPathRestsOnAreUrgent() {
        let run = Run()
        let member = member(of: run)
        let (mine, other) = (IPAddress(10, 9, 0, 1), IPAddress(10, 9, 0, 2))
        func isUrgent(_ losses: Losses) -> Bool { member.rests(on: losses) }
        #expect(!isUrgent(Losses(interfaces: [3], addresses: [mine])), "nothing was told yet")
        var good = outcome(.satisfied)
        good.path.interfaces = [NetworkInterface(name: "eth0", index: 3, kind: .wired)]
        good.path.localAddresses = [mine]
        _ = member.commit(good, ticket: 1, of: ObjectIdentifier(run), now: .zero)
        #expect(isUrgent(Losses(interfaces: [3])) && isUrgent(Losses(addresses: [mine, other])))
        #expect(!isUrgent(Losses(interfaces: [4], addresses: [other])) && !isUrgent(Losses()))
        good.path.status = .unsatisfied(.noCarrier)
        _ = member.commit(good, ticket: 2, of: ObjectIdentifier(run), now: .seconds(1))
        #expect(!isUrgent(Losses(interfaces: [3], addresses: [mine])), "it is known to be lost")
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
