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

/// Growth that the whole body would pay for, and its latest part does not.
@Suite(.leavesNothing) struct ExpansionMeterTests {
    @Test func theWholeBodyCounts() {
        var meter = ExpansionMeter(limits: DecodingLimits(maxRatio: 4, ratioAppliesAfterBytes: 0))
        meter.take(2)
        #expect(meter.produce(8) == nil && meter.produce(1) == .ratio(4))
        #expect(meter.input == 2 && meter.output == 9)
    }

    @Test func honestBytesDoNotPayForABombBehindThem() {
        var meter = ExpansionMeter(limits: .default)
        meter.take(6 << 20)
        #expect(meter.produce(6 << 20) == nil)
        var zeros = 0
        meter.take(1_000)
        while zeros < 64 << 20, meter.produce(32 << 10) == nil { zeros += 32 << 10 }
        // The latest part is 16 MiB long, and an eighth of that at the most is added.
        #expect(zeros >= 16 << 20 && zeros <= 18 << 20, "\(zeros)")
        #expect(DecodingLimits.default.exceeded(output: (6 << 20) + zeros, input: 6 << 20) == nil, "the whole body would allow it")
    }

    @Test func anEvenBodyIsNeverTooMuch() {
        var meter = ExpansionMeter(limits: .default)
        for _ in 0..<10_000 {
            meter.take(100)
            if let limit = meter.produce(32 << 10) {
                Issue.record("\(limit)")
                return
            }
        }
        #expect(meter.output == 10_000 * (32 << 10))
    }

    @Test func aBombBehindHonestBytesIsFoundInEveryCoding() throws {
        var generator = SeededGenerator(seed: 7)
        let honest = (0..<(1 << 20)).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        let zeros = [UInt8](repeating: 0, count: 24 << 20)
        let decoder = try #require(ContentDecoder.make(for: "gzip"))
        var decoded = 0
        #expect(throws: ContentDecodingError.bomb(.ratio(500))) {
            try (CodedBodies.gzip(honest) + CodedBodies.gzip(zeros)).withUnsafeBytes { body in
                try decoder.decode(body) { (piece: UnsafeRawBufferPointer) throws(ContentDecodingError) in decoded += piece.count }
            }
        }
        #expect(decoded >= 17 << 20 && decoded <= 19 << 20)
    }
}
