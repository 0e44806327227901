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

    @Test func thereIsOneWritingQueuedAtATime() {
        var ledger = RecordLedger<Int>()
        #expect(queue(&ledger) == false)
        ledger.note([1])
        #expect(queue(&ledger))
        ledger.note([2])
        #expect(queue(&ledger) == false)
        let first = ledger.beginWriting()
        #expect(first == .entries([1, 2]))
        // What comes while it is written is the next one's, which is queued at once.
        ledger.note([3])
        #expect(queue(&ledger))
        let waiting = ledger.endWriting(nil, isWritten: true)
        #expect(waiting.isEmpty && ledger.saved < ledger.noted && ledger.isQueued)
        let second = ledger.beginWriting()
        #expect(second == .entries([3]))
        _ = ledger.endWriting(nil, isWritten: true)
        #expect(ledger.saved == ledger.noted)
    }

    @Test func whoWaitsForAWritingHearsOfItsEnd() {
        var ledger = RecordLedger<Int>()
        #expect(wait(&ledger) == false)
        ledger.note([1])
        // Nothing is queued: nothing will come.
        #expect(wait(&ledger) == false)
        #expect(queue(&ledger) && wait(&ledger))
        let due = ledger.beginWriting()
        ledger.note([2])
        #expect(queue(&ledger) && wait(&ledger))
        let failed = ledger.endWriting(due, isWritten: false)
        #expect(failed.map(\.target) == [1])
        // There is no disk, and it takes nothing.
        let withoutDisk = ledger.endWriting(nil, isWritten: false)
        #expect(withoutDisk.count == 1 && !ledger.isQueued)
        #expect(queue(&ledger))
        let all = ledger.beginWriting()
        #expect(all == .entries([1, 2]))
        ledger.note([])
        #expect(wait(&ledger))
        // What was noted meanwhile leads to no writing, so this one is the last to wait for.
        let last = ledger.endWriting(nil, isWritten: true)
        #expect(last.count == 1)
    }

    private func queue(_ ledger: inout RecordLedger<Int>) -> Bool { ledger.queue() }

    private func wait(_ ledger: inout RecordLedger<Int>) -> Bool { ledger.wait(.init(target: ledger.noted) { _ in }) }

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
