import CleanSlate
import Testing

/// A lab that fails nothing would find nothing.
@Suite(.leavesNothing) struct FaultTallyTests {
    @Test func aPathOnWhichNoCallIsCountedShowsNothing() {
        #expect(FaultTally(calls: 0).problem == "no call was counted: nothing was shown")
        #expect(FaultTally(calls: 0, first: 7).problem != nil)
    }

    @Test func threeCallsInFourHaveToFail() {
        #expect(FaultTally(calls: 100, failed: 100).problem == nil)
        #expect(FaultTally(calls: 100, failed: 75).problem == nil)
        #expect(FaultTally(calls: 100, failed: 74).problem == "only 74 of 100 calls failed")
        #expect(FaultTally(calls: 1).problem == "only 0 of 1 calls failed")
    }

    @Test func ofASampleAsManyAreDue() {
        #expect(FaultTally(calls: 100, step: 5, failed: 15).problem == nil)
        #expect(FaultTally(calls: 100, step: 5, failed: 14).problem == "only 14 of 20 calls failed")
        #expect(FaultTally(calls: 100, first: 91, step: 5, failed: 1).problem == "only 1 of 2 calls failed")
        #expect(FaultTally(calls: 3, step: 5).problem == nil)
    }

    /// Every call has its turn in one of the samples, and in one alone.
    @Test func theSamplesTogetherAreAll() {
        let numbers = (0..<5).flatMap { FaultSample(step: 5, offset: $0).numbers(from: 7, through: 42) }
        #expect(numbers.sorted() == Array(7...42))
        #expect(Array(FaultSample(step: 1, offset: 0).numbers(from: 1, through: 0)).isEmpty)
    }

    @Test func aProcessThatGoesOnBehindACrashFailsTheRest() {
        #expect(FaultTally(calls: 100, first: 91, failed: 10).problem == nil)
        #expect(FaultTally(calls: 100, first: 91, failed: 7).problem == "only 7 of 10 calls failed")
        #expect(FaultTally(calls: 100, first: 101).problem == nil)
    }
}
