import CleanSlate
import Testing

@testable import ScopedNet

/// Where a limit on expansion begins, to the byte.
@Suite(.leavesNothing) struct DecodingLimitsTests {
    @Test func theDefaultIsARatioBeyondSixteenMebibytes() {
        let limits = DecodingLimits.default
        #expect(limits.maxOutputBytes == nil && limits.maxRatio == 500 && limits.ratioAppliesAfterBytes == 16 << 20)
        #expect(limits.exceeded(output: 16 << 20, input: 1) == nil)
        #expect(limits.exceeded(output: (16 << 20) + 1, input: 1) == .ratio(500))
    }

    @Test func theAbsoluteLimitIsTheLastByteAllowed() {
        let limits = DecodingLimits(maxOutputBytes: 10, maxRatio: nil)
        #expect(limits.exceeded(output: 10, input: 0) == nil)
        #expect(limits.exceeded(output: 11, input: 100) == .outputBytes(10))
    }

    @Test func theRatioIsTheLastByteAllowed() {
        let limits = DecodingLimits(maxRatio: 4, ratioAppliesAfterBytes: 0)
        #expect(limits.exceeded(output: 8, input: 2) == nil)
        #expect(limits.exceeded(output: 9, input: 2) == .ratio(4))
        #expect(limits.exceeded(output: 1, input: 0) == .ratio(4))
    }

    @Test func aRatioOfNothingIsOne() {
        let limits = DecodingLimits(maxRatio: 0, ratioAppliesAfterBytes: 0)
        #expect(limits.exceeded(output: 3, input: 3) == nil)
        #expect(limits.exceeded(output: 4, input: 3) == .ratio(0))
    }

    @Test func withoutLimitsNothingIsTooMuch() { #expect(DecodingLimits.unlimited.exceeded(output: .max, input: 0) == nil) }
}
