import CleanSlate
import Testing

@testable import ScopedNet

/// Every phase against every event, written out: the table is the specification.
@Suite(.leavesNothing) struct RunGateTests {
    private typealias Phase = RunGate.Phase

    private static let phases: [Phase] = [.created, .open, .calling, .cancelRequested, .ending, .ended, .cancelled, .silenced]

    /// One event: what it answers, and the gate afterwards.
    private struct Row<Answer: Equatable> {
        let from: RunGate
        let answer: Answer
        let to: RunGate
        init(_ from: RunGate, _ answer: Answer, _ to: RunGate) {
            self.from = from
            self.answer = answer
            self.to = to
        }
    }

    private static func gate(_ phase: Phase, _ reason: UInt8 = 0, goesOn: Bool = false) -> RunGate {
        RunGate(phase: phase, reason: reason, goesOn: goesOn)
    }

    private func check<Answer: Equatable>(_ rows: [Row<Answer>], _ event: (inout RunGate) -> Answer) {
        for row in rows {
            var gate = row.from
            let answer = event(&gate)
            #expect(answer == row.answer, "\(row.from)")
            #expect(gate == row.to, "\(row.from)")
        }
    }

    @Test func aNewGateIsCreated() {
        let gate = RunGate()
        #expect(gate.phase == .created && gate.reason == 0 && !gate.goesOn)
    }

    @Test func onlyWhatIsCreatedStarts() {
        check(
            Self.phases.map { phase in
                phase == .created ? Row(Self.gate(phase), .proceed, Self.gate(.open)) : Row(Self.gate(phase), .refuse, Self.gate(phase))
            }
        ) { $0.start() }
    }

    @Test(arguments: [false, true]) func cancelling(keepsWork: Bool) {
        check([
            // Nothing goes on before there is work.
            Row(Self.gate(.created), .tearDown, Self.gate(.cancelled, 3)),
            Row(Self.gate(.open), .tearDown, Self.gate(.cancelled, 3, goesOn: keepsWork)),
            Row(Self.gate(.calling), .leaveToCaller, Self.gate(.cancelRequested, 3, goesOn: keepsWork)),
            // The first reason stays.
            Row(Self.gate(.cancelRequested, 1), .leaveToCaller, Self.gate(.cancelRequested, 1)),
            Row(Self.gate(.cancelRequested, 1, goesOn: true), .leaveToCaller, Self.gate(.cancelRequested, 1, goesOn: keepsWork)),
            // How it ended stays; nothing further is called.
            Row(Self.gate(.ending), .tooLate, Self.gate(.silenced)),
            Row(Self.gate(.silenced), .tooLate, Self.gate(.silenced)),
            Row(Self.gate(.ended), .alreadyEnded, Self.gate(.ended)),
            Row(Self.gate(.cancelled, 1), .alreadyEnded, Self.gate(.cancelled, 1)),
            Row(
                Self.gate(.cancelled, 1, goesOn: true), keepsWork ? .alreadyEnded : .stopWork,
                Self.gate(.cancelled, 1, goesOn: keepsWork)),
        ]) { $0.cancel(reason: 3, keepsWork: keepsWork) }
    }

    @Test func aCancelStopsTheWorkUnlessToldOtherwise() {
        var gate = Self.gate(.open)
        _ = gate.cancel(reason: 3)
        #expect(!gate.goesOn)
    }

    @Test func onlyAnOpenGateAdmits() {
        check(
            Self.phases.map { phase in
                phase == .open ? Row(Self.gate(phase), .admitted, Self.gate(.calling)) : Row(Self.gate(phase), .refused, Self.gate(phase))
            }
        ) { $0.admitCall() }
        check(
            Self.phases.map { phase in
                phase == .open ? Row(Self.gate(phase), .admitted, Self.gate(.ending)) : Row(Self.gate(phase), .refused, Self.gate(phase))
            }
        ) { $0.admitEnding() }
    }

    @Test func onlyAnEndingThatNobodyCancelledAdmitsFurtherCalls() {
        check(
            Self.phases.map { phase in Row(Self.gate(phase), phase == .ending ? .admitted : .refused, Self.gate(phase)) }
        ) { $0.admitFurtherCall() }
    }

    @Test func aCallEnds() {
        check(
            Self.phases.map { phase in
                switch phase {
                case .calling: Row(Self.gate(phase), .goOn, Self.gate(.open))
                case .cancelRequested: Row(Self.gate(phase, 2, goesOn: true), .tearDown, Self.gate(.cancelled, 2, goesOn: true))
                default: Row(Self.gate(phase), .goOn, Self.gate(phase))
                }
            }
        ) { $0.endCall() }
    }

    @Test func onlyAnEndingEnds() {
        for phase in Self.phases {
            var gate = Self.gate(phase)
            gate.end()
            #expect(gate == Self.gate([.ending, .silenced].contains(phase) ? .ended : phase))
        }
    }

    @Test(arguments: [false, true]) func anAdmissionIsWithdrawn(keepsWork: Bool) {
        check(
            Self.phases.map { phase in
                switch phase {
                case .calling, .ending, .silenced: Row(Self.gate(phase), true, Self.gate(.cancelled, 4, goesOn: keepsWork))
                case .cancelRequested: Row(Self.gate(phase, 1), true, Self.gate(.cancelled, 1))
                default: Row(Self.gate(phase, 1), true, Self.gate(phase, 1))
                }
            }
        ) { gate in
            gate.withdrawAdmission(reason: 4, keepsWork: keepsWork)
            return true
        }
    }

    @Test func aWithdrawalStopsTheWorkUnlessToldOtherwise() {
        var gate = Self.gate(.calling)
        gate.withdrawAdmission(reason: 1)
        #expect(gate == Self.gate(.cancelled, 1))
    }

    @Test(arguments: [false, true]) func questions(goesOn: Bool) {
        for phase in Self.phases {
            let gate = Self.gate(phase, 1, goesOn: goesOn)
            #expect(gate.isOver == [.ended, .cancelled].contains(phase))
            #expect(gate.isMuted == (phase == .cancelled && goesOn))
            #expect(gate.isEnding == [.ending, .silenced].contains(phase))
            let mayGoOn =
                [.created, .open, .calling, .ending, .silenced].contains(phase) || [.cancelRequested, .cancelled].contains(phase) && goesOn
            #expect(gate.mayGoOn == mayGoOn)
        }
    }

    @Test func theWordHoldsAllOfIt() {
        var words: Set<UInt32> = []
        for phase in Self.phases {
            for reason in [0, 1, 5, 255] as [UInt8] {
                for goesOn in [false, true] {
                    let gate = Self.gate(phase, reason, goesOn: goesOn)
                    #expect(RunGate(word: gate.word) == gate)
                    words.insert(gate.word)
                }
            }
        }
        #expect(words.count == 8 * 4 * 2)
        // What nobody wrote reads as the safe end.
        #expect(RunGate(word: 0xFF).phase == .cancelled)
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
