import CleanSlate
import Testing

@testable @_spi(Transport) import ScopedNet

/// Delays of the loop itself, told from silence. Times are milliseconds here.
@Suite(.leavesNothing) struct LoopClockTests {
    private func time(_ milliseconds: UInt64) -> UInt64 { milliseconds * 1_000_000 }

    private func clock() -> LoopClock { LoopClock(now: time(1_000)) }

    @Test func anOrdinaryTurnIsNoDelay() {
        var clock = clock()
        #expect(clock.advance(to: time(1_100), asleep: 0) == 0)
        #expect(clock.now == time(1_100))
    }

    @Test func aTurnThatStoodStillIsADelayInAll() {
        var clock = clock()
        #expect(clock.advance(to: time(6_000), asleep: 0) == time(5_000))
        #expect(clock.now == time(6_000))
    }

    @Test func sleepAsMeantIsNoDelayAndSleepBeyondItIs() {
        var clock = clock()
        #expect(clock.advance(to: time(2_950), asleep: 2_000) == 0)
        #expect(clock.advance(to: time(4_950), asleep: 2_000) == 0)
        #expect(clock.advance(to: time(9_950), asleep: 2_000) == time(3_000))
        // A little beyond it is an ordinary turn.
        #expect(clock.advance(to: time(12_000), asleep: 2_000) == 0)
    }

    @Test func theLongestTurnIsAHundredMilliseconds() {
        var clock = clock()
        #expect(clock.advance(to: time(1_100) + 1, asleep: 0) == time(100) + 1)
        #expect(clock.advance(to: time(1_200) + 1, asleep: 0) == 0)
    }

    @Test func aSleepThatEndsEarlyIsNoDelay() {
        var clock = clock()
        #expect(clock.advance(to: time(1_200), asleep: 250) == 0)
    }

    @Test func sleepWithoutAnEndIsNoDelay() {
        var clock = clock()
        #expect(clock.advance(to: time(900_000), asleep: -1) == 0)
    }

    @Test func aClockThatStepsBackIsNotFollowed() {
        var clock = clock()
        #expect(clock.advance(to: time(500), asleep: 0) == 0)
        #expect(clock.now == time(1_000))
    }

    /// The process is stopped between two readings, and what came meanwhile is read with the old time, before the loop sleeps: not at all, as
    /// its clocks have run out by then.
    @Test func bytesReadWithTheOldTimeAreNoSilence() {
        var (clock, transfer) = (clock(), TransferClocks())
        let options = TransferOptions(timeouts: Timeouts(idle: .seconds(2)))
        let stage = TransferClocks.Stage(isRequestSent: true, hasHead: true)
        transfer.begin(now: clock.now, moment: .now)
        let delay = clock.advance(to: time(6_000), asleep: 0)
        transfer.credit(delay, now: clock.now)
        let expiry = transfer.expired(now: clock.now, stage, options, deadline: nil)
        #expect(expiry == nil)
        let later = transfer.expired(now: clock.now + time(2_000), stage, options, deadline: nil)
        #expect(later == .idle(limit: time(2_000)))
    }
}
