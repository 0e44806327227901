import CleanSlate
import Testing

@testable import ScopedNet

/// The two limits of a wait for another one's answer.
@Suite(.leavesNothing) struct FollowLimitTests {
    @Test func theEarlierOneHolds() {
        #expect(FollowLimit(firstByte: .seconds(1), total: .seconds(2)) == .firstByte(.seconds(1)))
        #expect(FollowLimit(firstByte: .seconds(2), total: .seconds(1)) == .total(.seconds(1)))
        #expect(FollowLimit(firstByte: .seconds(1), total: nil) == .firstByte(.seconds(1)))
        #expect(FollowLimit(firstByte: nil, total: .seconds(1)) == .total(.seconds(1)))
    }

    @Test func ofTwoEqualOnesTheRunIsOver() { #expect(FollowLimit(firstByte: .seconds(1), total: .seconds(1)) == .total(.seconds(1))) }

    @Test func withoutLimitsItWaitsAsLongAsItTakes() { #expect(FollowLimit(firstByte: nil, total: nil).wait == nil) }
}
