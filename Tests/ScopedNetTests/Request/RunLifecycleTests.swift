import CleanSlate
import Testing

@testable import ScopedNet

/// Every phase against every event, written out: the table is the specification.
@Suite(.leavesNothing) struct RunLifecycleTests {
    private typealias Phase = RunLifecycle.Phase

    private static let phases: [Phase] = [.created, .open, .calling, .cancelRequested, .ending, .ended, .cancelled, .silenced]

    /// One event: what it answers, and the lifecycle afterwards.
    private struct Row<Answer: Equatable> {
        let from: RunLifecycle
        let answer: Answer
        let to: RunLifecycle
        init(_ from: RunLifecycle, _ answer: Answer, _ to: RunLifecycle) {
            self.from = from
            self.answer = answer
            self.to = to
        }
    }

    private static func life(_ phase: Phase, _ reason: UInt8 = 0, goesOn: Bool = false) -> RunLifecycle {
        RunLifecycle(phase: phase, reason: reason, goesOn: goesOn)
    }

    private func check<Answer: Equatable>(_ rows: [Row<Answer>], _ event: (inout RunLifecycle) -> Answer) {
        for row in rows {
            var life = row.from
            let answer = event(&life)
            #expect(answer == row.answer, "\(row.from)")
            #expect(life == row.to, "\(row.from)")
        }
    }

    @Test func aNewRunIsCreated() {
        let life = RunLifecycle()
        #expect(life.phase == .created && life.reason == 0 && !life.goesOn)
    }

    @Test func onlyWhatIsCreatedStarts() {
        check(
            Self.phases.map { phase in
                phase == .created ? Row(Self.life(phase), .proceed, Self.life(.open)) : Row(Self.life(phase), .refuse, Self.life(phase))
            }
        ) { $0.start() }
    }

    @Test(arguments: [false, true]) func cancelling(keepsWork: Bool) {
        check([
            // Nothing goes on before there is work.
            Row(Self.life(.created), .tearDown, Self.life(.cancelled, 3)),
            Row(Self.life(.open), .tearDown, Self.life(.cancelled, 3, goesOn: keepsWork)),
            Row(Self.life(.calling), .leaveToCaller, Self.life(.cancelRequested, 3, goesOn: keepsWork)),
            // The first reason stays.
            Row(Self.life(.cancelRequested, 1), .leaveToCaller, Self.life(.cancelRequested, 1)),
            Row(Self.life(.cancelRequested, 1, goesOn: true), .leaveToCaller, Self.life(.cancelRequested, 1, goesOn: keepsWork)),
            // How it ended stays; nothing further is called.
            Row(Self.life(.ending), .tooLate, Self.life(.silenced)),
            Row(Self.life(.silenced), .tooLate, Self.life(.silenced)),
            Row(Self.life(.ended), .alreadyEnded, Self.life(.ended)),
            Row(Self.life(.cancelled, 1), .alreadyEnded, Self.life(.cancelled, 1)),
            Row(
                Self.life(.cancelled, 1, goesOn: true), keepsWork ? .alreadyEnded : .stopWork,
                Self.life(.cancelled, 1, goesOn: keepsWork)),
        ]) { $0.cancel(reason: 3, keepsWork: keepsWork) }
    }

    @Test func aCancelStopsTheWorkUnlessToldOtherwise() {
        var life = Self.life(.open)
        _ = life.cancel(reason: 3)
        #expect(!life.goesOn)
    }

    @Test func onlyAnOpenRunAdmits() {
        check(
            Self.phases.map { phase in
                phase == .open ? Row(Self.life(phase), .admitted, Self.life(.calling)) : Row(Self.life(phase), .refused, Self.life(phase))
            }
        ) { $0.admitCall() }
        check(
            Self.phases.map { phase in
                phase == .open ? Row(Self.life(phase), .admitted, Self.life(.ending)) : Row(Self.life(phase), .refused, Self.life(phase))
            }
        ) { $0.admitEnding() }
    }

    @Test func onlyAnEndingThatNobodyCancelledAdmitsFurtherCalls() {
        check(
            Self.phases.map { phase in Row(Self.life(phase), phase == .ending ? .admitted : .refused, Self.life(phase)) }
        ) { $0.admitFurtherCall() }
    }

    @Test func aCallEnds() {
        check(
            Self.phases.map { phase in
                switch phase {
                case .calling: Row(Self.life(phase), .goOn, Self.life(.open))
                case .cancelRequested: Row(Self.life(phase, 2, goesOn: true), .tearDown, Self.life(.cancelled, 2, goesOn: true))
                default: Row(Self.life(phase), .goOn, Self.life(phase))
                }
            }
        ) { $0.endCall() }
    }

    @Test func onlyAnEndingEnds() {
        for phase in Self.phases {
            var life = Self.life(phase)
            life.end()
            #expect(life == Self.life([.ending, .silenced].contains(phase) ? .ended : phase))
        }
    }

    @Test(arguments: [false, true]) func anAdmissionIsWithdrawn(keepsWork: Bool) {
        check(
            Self.phases.map { phase in
                switch phase {
                case .calling, .ending, .silenced: Row(Self.life(phase), true, Self.life(.cancelled, 4, goesOn: keepsWork))
                case .cancelRequested: Row(Self.life(phase, 1), true, Self.life(.cancelled, 1))
                default: Row(Self.life(phase, 1), true, Self.life(phase, 1))
                }
            }
        ) { life in
            life.withdrawAdmission(reason: 4, keepsWork: keepsWork)
            return true
        }
    }

    @Test func aWithdrawalStopsTheWorkUnlessToldOtherwise() {
        var life = Self.life(.calling)
        life.withdrawAdmission(reason: 1)
        #expect(life == Self.life(.cancelled, 1))
    }

    @Test(arguments: [false, true]) func questions(goesOn: Bool) {
        for phase in Self.phases {
            let life = Self.life(phase, 1, goesOn: goesOn)
            #expect(life.isOver == [.ended, .cancelled].contains(phase))
            #expect(life.isMuted == (phase == .cancelled && goesOn))
            #expect(life.isEnding == [.ending, .silenced].contains(phase))
            let mayGoOn =
                [.created, .open, .calling, .ending, .silenced].contains(phase) || [.cancelRequested, .cancelled].contains(phase) && goesOn
            #expect(life.mayGoOn == mayGoOn)
        }
    }

    @Test func theWordHoldsAllOfIt() {
        var words: Set<UInt64> = []
        for phase in Self.phases {
            for reason in [0, 1, 5, 255] as [UInt8] {
                for goesOn in [false, true] {
                    let life = Self.life(phase, reason, goesOn: goesOn)
                    #expect(RunLifecycle(word: life.word) == life)
                    words.insert(life.word)
                }
            }
        }
        #expect(words.count == 8 * 4 * 2)
        // What nobody wrote reads as the safe end.
        #expect(RunLifecycle(word: 0xFF).phase == .cancelled)
    }
}

/// The flags of a lifecycle, which any thread may change in the same word.
@Suite(.leavesNothing) struct RunLifecycleFlagTests {
    private static let phases: [RunLifecycle.Phase] = [.created, .open, .calling, .cancelRequested, .ending, .ended, .cancelled, .silenced]

    /// A phase, with and without work that goes on.
    private static let lives: [RunLifecycle] = phases.flatMap { phase in
        [false, true].map { RunLifecycle(phase: phase, reason: 1, goesOn: $0) }
    }

    @Test func theWordHoldsEachFlagAlone() {
        let changes: [@Sendable (inout RunLifecycle) -> Void] = [
            { _ = $0.setSuspended(true, isDetached: true) }, { $0.lead() }, { _ = $0.sayLastWord() }, { _ = $0.endWork() },
            { $0.count() }, { _ = $0.retire() },
        ]
        for life in Self.lives {
            for bits in 0..<(1 << changes.count) {
                var changed = life
                for (place, change) in changes.enumerated() where bits >> place & 1 == 1 { change(&changed) }
                #expect(RunLifecycle(word: changed.word) == changed)
                #expect(changed.phase == life.phase && changed.reason == 1 && changed.goesOn == life.goesOn)
                let flags = [
                    changed.isSuspended, changed.isLeading, changed.isSilent, changed.isWorkOver, changed.isCounted, changed.isRetired,
                ]
                #expect(flags == (0..<changes.count).map { bits >> $0 & 1 == 1 })
            }
        }
    }

    @Test func aSuspensionIsToldOnce() {
        for life in Self.lives {
            for isDetached in [false, true] {
                var changed = life
                // Nobody is left to resume what goes on for others.
                let isRefused = life.isMuted && !isDetached
                let first = changed.setSuspended(true, isDetached: isDetached)
                #expect(first == (isRefused ? .unchanged : .changed))
                #expect(changed.isSuspended == !isRefused)
                let second = changed.setSuspended(true, isDetached: isDetached)
                #expect(second == .unchanged)
                let resumed = changed.setSuspended(false, isDetached: isDetached)
                #expect(resumed == (isRefused ? .unchanged : .changed))
                #expect(changed == life)
            }
        }
    }

    @Test func whatWasSuspendedBeforeItsCancelIsResumed() {
        var life = RunLifecycle(phase: .open)
        _ = life.setSuspended(true, isDetached: false)
        _ = life.cancel(reason: 1, keepsWork: true)
        #expect(life.isSuspended)
        let resumed = life.setSuspended(false, isDetached: false)
        #expect(resumed == .changed)
    }

    @Test func othersAreToldOnce() {
        var life = RunLifecycle(phase: .open)
        var answers = [life.endLeading()]
        life.lead()
        #expect(life.isLeading)
        answers += [life.endLeading(), life.endLeading()]
        #expect(answers == [.nothing, .tellOthers, .nothing] && !life.isLeading)
    }

    /// The last of *said* and *work over* takes the run out, where there is work.
    @Test func whoeverIsLastRetires() {
        for life in Self.lives {
            var silentFirst = life
            let silence = [silentFirst.sayLastWord(), silentFirst.endWork()]
            #expect(silence == [life.isMuted ? .wait : .retire, .retire])
            var workFirst = life
            let work = [workFirst.endWork(), workFirst.sayLastWord()]
            #expect(work == [.wait, .retire])
        }
    }

    /// A second cancel stops work that went on: whichever comes first, somebody takes the run out.
    @Test func aSecondCancelBetweenLastWordAndEndRetires() {
        var life = RunLifecycle(phase: .cancelled, goesOn: true)
        let first = (life.sayLastWord(), life.cancel(reason: 0), life.endWork())
        #expect(first == (.wait, .stopWork, .retire))
        var other = RunLifecycle(phase: .cancelled, goesOn: true)
        let second = (other.cancel(reason: 0), other.sayLastWord())
        #expect(second == (.stopWork, .retire))
    }

    @Test func itRetiresOnce() {
        for life in Self.lives {
            var changed = life
            let answers = [changed.retire(), changed.retire()]
            #expect(answers == [.leave, .alreadyLeft] && changed.isRetired)
        }
    }
}

/// The decision about each call, for every answer of the gate and everything the bags can have done.
@Suite(.leavesNothing) struct CallAdmissionTests {
    @Test(arguments: [false, true]) func theFirstCallIsWithdrawnWhereABagHasEnded(bagHasEnded: Bool) {
        #expect(CallAdmission(.refused, bagHasEnded: bagHasEnded) == .refuse)
        #expect(CallAdmission(.admitted, bagHasEnded: bagHasEnded) == (bagHasEnded ? .withdraw : .call))
    }

    @Test(arguments: [false, true], [false, true]) func aFurtherCallIsRefusedWhereTheRunOrABagWasCancelled(ended: Bool, cancelled: Bool) {
        #expect(CallAdmission(further: .refused, bagHasEnded: ended, wasCancelledInBag: cancelled) == .refuse)
        let admitted = CallAdmission(further: .admitted, bagHasEnded: ended, wasCancelledInBag: cancelled)
        #expect(admitted == (ended || cancelled ? .refuse : .call))
    }
}

/// The word of a stage brings back what was put into it, for every kind and number.
@Suite(.leavesNothing) struct RunStageTests {
    @Test func theWordHoldsKindAndNumber() {
        var words: Set<UInt64> = []
        var stages: [RunStage] = [.idle, .working, .parked]
        for number in [0, 1, 7, 8, 1 << 60] as [UInt64] {
            stages += [.queued(number), .transferring(number), .waiting(number), .waitingForDisk(number)]
        }
        for stage in stages {
            #expect(RunStage(word: stage.word) == stage)
            words.insert(stage.word)
        }
        #expect(words.count == stages.count)
        #expect(RunStage.idle.word == 0)
        #expect(RunStage(word: 7) == .idle)
        #expect(stages.map(\.number).max() == 1 << 60 && RunStage.idle.number == 0)
    }
}

/// Who takes a member out of its bag: each state against each event.
@Suite(.leavesNothing) struct BagLinkTests {
    private static let states: [BagLink] = [.none, .linking, .linked, .closed]

    @Test func onlyWhatHasNoLinkAnnouncesOne() {
        for state in Self.states {
            var link = state
            let isAnnounced = link.announce()
            #expect(isAnnounced == (state == .none))
            #expect(link == (state == .none ? .linking : state))
        }
    }

    @Test func whoConfirmsLateUnlinks() {
        for state in Self.states {
            var link = state
            let action = link.confirm()
            #expect(action == (state == .linking ? .keep : .unlink))
            #expect(link == (state == .linking ? .linked : state))
        }
    }

    @Test func anEndingClosesAndUnlinksOnce() {
        let answers: [BagLink.CloseAction] = [.nothing, .leaveToInserter, .unlink, .nothing]
        for (state, answer) in zip(Self.states, answers) {
            var link = state
            let action = link.close()
            #expect(action == answer)
            #expect(link == .closed)
        }
    }
}
