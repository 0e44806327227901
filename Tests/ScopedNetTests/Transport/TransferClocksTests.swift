import CleanSlate
import Testing

@testable @_spi(Transport) import ScopedNet

/// The clocks and pauses of one transfer. All times are seconds here.
@Suite(.leavesNothing) struct TransferClocksTests {
    typealias Stage = TransferClocks.Stage

    private let second: UInt64 = 1_000_000_000
    private let options = TransferOptions(timeouts: Self.timeouts())
    private let sent = Stage(isRequestSent: true)
    private let receiving = Stage(isRequestSent: true, hasHead: true)
    private let sending = Stage(isRequestSent: true, isSendingBody: true)

    private static func timeouts() -> Timeouts {
        var timeouts = Timeouts()
        (timeouts.connect, timeouts.firstByte, timeouts.idle, timeouts.total) = (.seconds(5), .seconds(30), .seconds(10), .seconds(100))
        return timeouts
    }

    private func clocks(began: UInt64 = 1_000) -> TransferClocks {
        var clocks = TransferClocks()
        clocks.begin(now: began * second, moment: .now)
        return clocks
    }

    private func deadline(_ clocks: TransferClocks, _ stage: Stage, total: UInt64? = nil) -> UInt64 {
        let deadline = clocks.nextDeadline(stage, options, deadline: total.map { $0 * second })
        return deadline == .max ? .max : deadline / second
    }

    private func expired(_ clocks: inout TransferClocks, _ stage: Stage, at now: UInt64, total: UInt64? = nil) -> TransferClocks.Expiry? {
        clocks.expired(now: now * second, stage, options, deadline: total.map { $0 * second })
    }

    // MARK: Silence

    @Test func theFirstByteHasItsOwnLimit() {
        var clocks = clocks()
        #expect(deadline(clocks, sent) == 1_030)
        #expect(expired(&clocks, sent, at: 1_029) == nil)
        #expect(expired(&clocks, sent, at: 1_030) == .firstByte(limit: 30 * second))
    }

    @Test func theFirstByteIsAwaitedFromTheLatestRequestOn() {
        var clocks = clocks()
        clocks.sentAt = 1_020 * second
        #expect(expired(&clocks, sent, at: 1_030) == nil)
        #expect(deadline(clocks, sent) == 1_050)
        #expect(expired(&clocks, sent, at: 1_050) == .firstByte(limit: 30 * second))
    }

    @Test func connectingIsNoSilence() {
        var clocks = clocks()
        #expect(expired(&clocks, Stage(), at: 1_030) == nil)
        // Counted anew from there.
        #expect(deadline(clocks, Stage()) == 1_060)
    }

    @Test(arguments: [false, true]) func behindTheHeadAndWhileABodyGoesOutTheIdleLimitCounts(_ hasHead: Bool) {
        var clocks = clocks()
        let stage = hasHead ? receiving : sending
        #expect(deadline(clocks, stage) == 1_010)
        #expect(expired(&clocks, stage, at: 1_010) == .idle(limit: 10 * second))
        clocks.lastActivity = 1_009 * second
        #expect(expired(&clocks, stage, at: 1_018) == nil && deadline(clocks, stage) == 1_019)
    }

    @Test func withoutLimitsNothingExpires() {
        var timeouts = Timeouts()
        (timeouts.connect, timeouts.firstByte, timeouts.idle, timeouts.total) = (nil, nil, nil, nil)
        let options = TransferOptions(timeouts: timeouts)
        var clocks = clocks()
        for stage in [Stage(isNameLookedUp: false), sent, receiving, sending] {
            #expect(clocks.nextDeadline(stage, options, deadline: nil) == .max)
            #expect(clocks.expired(now: 9_999 * second, stage, options, deadline: nil) == nil)
        }
    }

    @Test func aDelayOfTheLoopIsNoSilence() {
        var clocks = clocks()
        clocks.credit(8 * second, now: 1_009 * second)
        #expect(clocks.lastActivity == 1_008 * second)
        clocks.credit(8 * second, now: 1_009 * second)
        #expect(clocks.lastActivity == 1_009 * second)
    }

    // MARK: Total and name

    @Test func theTotalTimeCountsInEveryStage() {
        for stage in [Stage(), sent, receiving, sending, Stage(isNameLookedUp: false)] {
            var clocks = clocks()
            #expect(deadline(clocks, stage, total: 1_003) == 1_003)
            #expect(expired(&clocks, stage, at: 1_003, total: 1_003) == .total)
            clocks.isSuspended = true
            #expect(deadline(clocks, stage, total: 1_003) == 1_003)
            #expect(expired(&clocks, stage, at: 1_003, total: 1_003) == .total)
        }
    }

    @Test func aNameIsLookedUpWithinTheConnectLimit() {
        var clocks = clocks()
        let stage = Stage(isNameLookedUp: false)
        #expect(deadline(clocks, stage) == 1_005)
        #expect(expired(&clocks, stage, at: 1_004) == nil)
        #expect(expired(&clocks, stage, at: 1_005) == .nameLookup)
        // It counts from the beginning, and a pause does not hold it.
        clocks.lastActivity = 1_004 * second
        clocks.isSuspended = true
        #expect(deadline(clocks, stage) == 1_005)
    }

    // MARK: Pauses

    @Test func aPauseHoldsTheLimitsOnSilence() {
        for pause in [\TransferClocks.isSuspended, \.isReadPaused, \.isWritePaused] {
            var clocks = clocks()
            clocks[keyPath: pause] = true
            #expect(!clocks.isRunning)
            #expect(deadline(clocks, receiving) == .max && deadline(clocks, sent) == .max)
            #expect(expired(&clocks, receiving, at: 9_999) == nil)
        }
    }

    @Test func readersAndSourcesAreAskedAgain() {
        var clocks = clocks()
        (clocks.isSuspended, clocks.isReadPaused, clocks.isWritePaused) = (true, true, true)
        clocks.endPauses()
        #expect(clocks.isSuspended && !clocks.isReadPaused && !clocks.isWritePaused)
    }

    @Test func aBodyThatDoesNotEndHasTheIdleLimit() {
        var clocks = clocks()
        (clocks.awaitsBodyEnd, clocks.isWritePaused) = (true, true)
        #expect(deadline(clocks, sent) == 1_010)
        #expect(expired(&clocks, sent, at: 1_009) == nil)
        #expect(expired(&clocks, sent, at: 1_010) == .bodyEnd)
        clocks.isSuspended = true
        #expect(deadline(clocks, sent) == .max && expired(&clocks, sent, at: 1_010) == nil)
        // The response has begun: it does not matter any more.
        clocks.isSuspended = false
        #expect(expired(&clocks, receiving, at: 1_010) == nil)
    }

    @Test func aLimitOnTheSpeedEndsItsOwnPause() {
        var clocks = clocks()
        clocks.isReadPaused = true
        clocks.hold(until: 1_004 * second)
        clocks.hold(until: 1_007 * second)
        #expect(deadline(clocks, receiving) == 1_004)
        #expect(clocks.endPace(now: 1_003 * second) == false)
        #expect(clocks.endPace(now: 1_004 * second) == true)
        #expect(clocks.endPace(now: 1_005 * second) == false, "once")
    }

    @Test func aSuspendedTransferDoesNotGoOnByItself() {
        var clocks = clocks()
        clocks.hold(until: 1_004 * second)
        clocks.isSuspended = true
        #expect(clocks.endPace(now: 1_010 * second) == false)
        #expect(deadline(clocks, receiving) == .max)
        clocks.isSuspended = false
        #expect(clocks.endPace(now: 1_010 * second) == true)
    }

    @Test func theNextTransferStartsWithoutPauses() {
        var clocks = clocks()
        (clocks.isSuspended, clocks.isReadPaused, clocks.isWritePaused, clocks.awaitsBodyEnd) = (true, true, true, true)
        clocks.hold(until: 1_004 * second)
        clocks.headCompleted = 1
        clocks.end()
        #expect(clocks.isRunning && !clocks.awaitsBodyEnd && clocks.paceResume == nil && clocks.headCompleted == 0)
    }

    // MARK: Errors

    @Test func eachLimitHasItsError() {
        func failure(_ expiry: TransferClocks.Expiry, hasHead: Bool = false) -> (NetworkError.Code, String, NetworkError.Phase?) {
            let failure = expiry.failure(Self.timeouts(), hasHead: hasHead)
            return (failure.code, failure.message, failure.phase)
        }
        #expect(failure(.total) == (.totalTimeout, "the total time of 100.0 seconds is over", nil))
        let name = "no connection within 5.0 seconds: its name is still being looked up"
        #expect(failure(.nameLookup) == (.connectTimeout, name, .resolving))
        #expect(failure(.bodyEnd).0 == .bodyStreamFailed)
        #expect(failure(.firstByte(limit: 2 * second)) == (.firstByteTimeout, "no response for 2.0 seconds", nil))
        #expect(failure(.idle(limit: 2 * second)) == (.idleTimeout, "no response for 2.0 seconds", nil))
        #expect(failure(.idle(limit: 2 * second), hasHead: true) == (.idleTimeout, "no byte for 2.0 seconds", nil))
    }
}
