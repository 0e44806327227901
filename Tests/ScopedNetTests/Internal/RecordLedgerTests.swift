import CleanSlate
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct RecordLedgerTests {
    @Test func whatIsNotedIsTakenOnce() {
        var ledger = RecordLedger<Int>()
        #expect(ledger.isEmpty && ledger.take() == nil)
        ledger.note([1, 2])
        ledger.note([2, 3])
        #expect(!ledger.isEmpty && ledger.contains(2) && !ledger.contains(4))
        #expect(ledger.take() == .entries([1, 2, 3]))
        #expect(ledger.isEmpty && ledger.take() == nil && !ledger.contains(2))
        ledger.note([])
        #expect(ledger.isEmpty)
    }

    @Test func everythingGoesBeforeSingleEntries() {
        var ledger = RecordLedger<Int>()
        ledger.note([1])
        ledger.noteEverything()
        #expect(!ledger.contains(1) && !ledger.isEmpty)
        ledger.note([2])
        #expect(ledger.take() == .everything)
        #expect(ledger.take() == nil)
    }

    @Test func whatCouldNotBeWrittenIsNotedAgain() {
        var ledger = RecordLedger<Int>()
        ledger.note([1])
        let due = ledger.take()
        #expect(due == .entries([1]))
        ledger.note([2])
        if let due { ledger.note(due) }
        #expect(ledger.take() == .entries([1, 2]))
        ledger.note(.everything)
        #expect(ledger.take() == .everything)
    }

    /// A flush waits for what was there when it began, however much comes behind.
    @Test func whatIsNotedHasANumber() {
        var ledger = RecordLedger<Int>()
        ledger.note([1])
        let first = ledger.noted
        #expect(ledger.saved < first)
        _ = ledger.take()
        ledger.note([2])
        ledger.paid()
        #expect(ledger.saved >= first && ledger.saved < ledger.noted)
        _ = ledger.take()
        ledger.paid()
        #expect(ledger.saved == ledger.noted)
        ledger.noteEverything()
        #expect(ledger.saved < ledger.noted)
        ledger.clear()
        #expect(ledger.saved == ledger.noted)
    }

    @Test func aDiskThatTakesNothingIsOwedABoundedList() {
        var ledger = RecordLedger<Int>(most: 3)
        ledger.note([1, 2, 3])
        #expect(ledger.contains(3))
        ledger.note([4])
        #expect(!ledger.contains(3) && ledger.take() == .everything)
        ledger.note([1])
        ledger.clear()
        #expect(ledger.isEmpty)
        ledger.noteEverything()
        ledger.clear()
        #expect(ledger.take() == nil)
    }
}
