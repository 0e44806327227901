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
        #expect(member.commit(outcome(.unsatisfied(.noRoute)), about: [], ticket: 2, of: ObjectIdentifier(run), now: .zero) == .published)
        #expect(member.commit(outcome(.satisfied), about: [], ticket: 1, of: ObjectIdentifier(run), now: .seconds(1)) == .unchanged)
        #expect(member.current?.isSatisfied == false)
        #expect(member.commit(outcome(.satisfied), about: [], ticket: 3, of: ObjectIdentifier(run), now: .seconds(2)) == .published)
        #expect(member.current?.generation == 2)
    }

    /// Stopped and started again: while the new run is being opened, the thread of the old one looks once more, with a ticket of its own count.
    @Test func theRunBeforeDecidesNothingWhileTheNextIsOpened() {
        let (old, new) = (Run(), Run())
        let member = member(of: old)
        _ = member.commit(outcome(.satisfied), about: [], ticket: 40, of: ObjectIdentifier(old), now: .zero)
        member.state.withLock { state in
            _ = state.end()
            _ = state.begin()
        }
        let nowhere = outcome(.unsatisfied(.noRoute))
        #expect(member.commit(nowhere, about: [], ticket: 41, of: ObjectIdentifier(old), now: .seconds(1)) == .unchanged)
        #expect(member.current?.isSatisfied == true)
        let isOfTheOld = member.state.withLock { $0.belongs(to: ObjectIdentifier(old)) }
        #expect(!isOfTheOld)
        member.state.withLock { $0.run = ObjectIdentifier(new) }
        #expect(member.commit(nowhere, about: [], ticket: 1, of: ObjectIdentifier(new), now: .seconds(1)) == .published)
        #expect(member.current?.isSatisfied == false)
    }

    /// The answer of the resolver comes while the kernel is asked without it, or before it is: what was asked without an address says nothing,
    /// with whichever ticket.
    @Test func aLookWithoutTheAddressesThatAreKnownNowIsRepeated() {
        let run = Run()
        let member = Member(target: .host("service.test"), settle: SettleRule())
        member.state.withLock { state in
            _ = state.begin()
            state.run = ObjectIdentifier(run)
            _ = state.resolution.want()
        }
        let (question, address) = (member.question, IPAddress(192, 0, 2, 1))
        #expect(question.resolved.isEmpty)
        let nowhere = outcome(.unsatisfied(.noRoute))
        #expect(member.commit(nowhere, about: question.resolved, ticket: 1, of: ObjectIdentifier(run), now: .zero) == .published)
        #expect(member.current?.status == .unsatisfied(.resolving))
        member.state.withLock { state in _ = state.resolution.finish([address], now: .zero) }
        #expect(member.commit(nowhere, about: question.resolved, ticket: 2, of: ObjectIdentifier(run), now: .zero) == .outdated)
        var found = outcome(.satisfied)
        found.path.remoteAddresses = [address]
        #expect(member.commit(found, about: [address], ticket: 3, of: ObjectIdentifier(run), now: .seconds(1)) == .published)
        #expect(member.commit(nowhere, about: question.resolved, ticket: 4, of: ObjectIdentifier(run), now: .seconds(1)) == .outdated)
        #expect(member.current?.status == .satisfied)
    }

    /// Out of memory is not out of reach.
    @Test func whatCouldNotBeAskedChangesNothing() {
        let run = Run()
        let member = member(of: run)
        let shortage = SystemFailure("route lookup", ENOBUFS)
        var failed = outcome(.unsatisfied(.noRoute))
        failed.shortage = shortage
        #expect(member.commit(failed, about: [], ticket: 1, of: ObjectIdentifier(run), now: .zero) == .unanswered(shortage))
        #expect(member.current == nil)
        #expect(member.commit(outcome(.satisfied), about: [], ticket: 2, of: ObjectIdentifier(run), now: .zero) == .published)
        #expect(member.commit(failed, about: [], ticket: 3, of: ObjectIdentifier(run), now: .seconds(1)) == .unanswered(shortage))
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
        _ = member.commit(good, about: [], ticket: 1, of: ObjectIdentifier(run), now: .zero)
        #expect(isUrgent(Losses(interfaces: [3])) && isUrgent(Losses(addresses: [mine, other])))
        #expect(!isUrgent(Losses(interfaces: [4], addresses: [other])) && !isUrgent(Losses()))
        good.path.status = .unsatisfied(.noCarrier)
        _ = member.commit(good, about: [], ticket: 2, of: ObjectIdentifier(run), now: .seconds(1))
        #expect(!isUrgent(Losses(interfaces: [3], addresses: [mine])), "it is known to be lost")
    }

    @Test func whatAStoppedThreadFoundCountsNoMore() {
        let run = Run()
        let old = Run()
        let member = member(of: run)
        #expect(member.commit(outcome(.satisfied), about: [], ticket: 900, of: ObjectIdentifier(old), now: .zero) == .unchanged)
        #expect(member.commit(outcome(.unsatisfied(.noRoute)), about: [], ticket: 1, of: ObjectIdentifier(run), now: .zero) == .published)
        member.state.withLock { $0.isStarted = false }
        #expect(member.commit(outcome(.satisfied), about: [], ticket: 2, of: ObjectIdentifier(run), now: .zero) == .unchanged)
    }
}
