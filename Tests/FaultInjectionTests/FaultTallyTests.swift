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

    @Test func aProcessThatGoesOnBehindACrashFailsTheRest() {
        #expect(FaultTally(calls: 100, first: 91, failed: 10).problem == nil)
        #expect(FaultTally(calls: 100, first: 91, failed: 7).problem == "only 7 of 10 calls failed")
        #expect(FaultTally(calls: 100, first: 101).problem == nil)
    }
}
