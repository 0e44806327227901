import CleanSlate
import HTTPTypes
import Testing

@testable import ScopedNet

/// RFC 9110 section 14.
@Suite(.leavesNothing) struct ByteRangeTests {
    @Test(
        arguments: [
            ("bytes=0-4", .single(.from(0, last: 4))), ("bytes=5-", .single(.from(5, last: nil))), ("bytes=-5", .single(.suffix(5))),
            ("BYTES=0-0", .single(.from(0, last: 0))), ("bytes= 1 - 2 ", .single(.from(1, last: 2))), ("bytes=0-1,3-4", .several),
            ("bytes=0-1, ,", .single(.from(0, last: 1))), ("bytes=-0", .single(.suffix(0))),
            ("bytes=0-9223372036854775807", .single(.from(0, last: .max))), ("bytes=4-2", .ignored), ("bytes=-", .ignored),
            ("bytes=", .ignored), ("bytes", .ignored), ("", .ignored), ("items=0-4", .ignored), ("bytes=a-b", .ignored),
            ("bytes=0-4,x", .ignored), ("bytes=1-2-3", .ignored), ("bytes=99999999999999999999-", .ignored), ("bytes=--1", .ignored),
            ("bytes=+1-2", .ignored), ("bytes=1-x", .ignored),
        ] as [(String, RangeField)])
    func rangesAreReadAsTheGrammarHasThem(_ text: String, _ field: RangeField) {
        #expect(RangeField(text) == field)
    }

    @Test(
        arguments: [
            (.from(0, last: 4), 10, ByteRange(0, 5)), (.from(5, last: nil), 10, ByteRange(5, 10)),
            (.from(5, last: 99), 10, ByteRange(5, 10)),
            (.suffix(4), 10, ByteRange(6, 10)), (.suffix(99), 10, ByteRange(0, 10)), (.suffix(0), 10, nil), (.from(10, last: nil), 10, nil),
            (.from(0, last: .max), 10, ByteRange(0, 10)), (.suffix(1), 0, nil), (.from(0, last: nil), 0, nil),
            (.from(0, last: .max), .max, ByteRange(0, .max)),
        ] as [(RangeSpec, Int64, ByteRange?)])
    func aRangeIsTheBytesThatAreThere(_ spec: RangeSpec, _ length: Int64, _ range: ByteRange?) {
        #expect(spec.resolved(length: length) == range)
    }

    @Test func withoutALengthOnlyBothEndsNameBytes() {
        #expect(RangeSpec.from(2, last: 3).resolved(length: Int64?.none) == ByteRange(2, 4))
        #expect(RangeSpec.from(2, last: nil).resolved(length: Int64?.none) == nil)
        #expect(RangeSpec.from(2, last: .max).resolved(length: Int64?.none) == nil)
        #expect(RangeSpec.suffix(2).resolved(length: Int64?.none) == nil)
    }

    @Test(
        arguments: [
            ("bytes 0-4/10", ByteRange(0, 5), 10), ("bytes 5-9/10", ByteRange(5, 10), 10), ("Bytes 0-0/*", ByteRange(0, 1), nil),
            ("bytes */10", nil, 10),
        ] as [(String, ByteRange?, Int64?)])
    func contentRangesAreRead(_ text: String, _ range: ByteRange?, _ length: Int64?) {
        #expect(ContentRange(text) == ContentRange(range: range, completeLength: length))
    }

    @Test(arguments: [
        "", "bytes", "bytes 0-4", "bytes 4-0/10", "bytes 0-10/10", "bytes */*", "bytes 0-4/x", "items 0-4/10", "bytes=0-4/10",
        "bytes 0-4/10/1",
        "bytes -4/10", "bytes 0-/10", "bytes 0-9223372036854775807/*", "bytes 0-4/-1", "bytes 0-1-2/9",
    ])
    func aContentRangeThatContradictsItselfIsNone(_ text: String) {
        #expect(ContentRange(text) == nil)
    }

    @Test func contentRangesAreWritten() {
        #expect(ContentRange(range: ByteRange(0, 5), completeLength: 10).description == "bytes 0-4/10")
        #expect(ContentRange(range: ByteRange(0, 5), completeLength: nil).description == "bytes 0-4/*")
        #expect(ContentRange(range: nil, completeLength: 10).description == "bytes */10")
    }

    @Test func unionsHaveNoGap() throws {
        let left = try #require(ByteRange(0, 5))
        let right = try #require(ByteRange(5, 9))
        let inner = try #require(ByteRange(2, 3))
        let far = try #require(ByteRange(10, 12))
        #expect(left.union(right) == ByteRange(0, 9))
        #expect(right.union(left) == ByteRange(0, 9))
        #expect(left.union(inner) == left)
        #expect(left.union(far) == nil)
        #expect(right.union(far) == nil)
        #expect(left.contains(inner))
        #expect(!inner.contains(left))
        #expect(left.count == 5)
        #expect(ByteRange(-1, 3) == nil)
        #expect(ByteRange(3, 3) == nil)
    }

    @Test func onlyGetHasRanges() {
        let fields = HTTPFields(lines: ["Range: bytes=0-1"])
        #expect(RangeField(CacheRequest(url: "http://a/", fields: fields)) == .single(.from(0, last: 1)))
        #expect(RangeField(CacheRequest(method: .head, url: "http://a/", fields: fields)) == nil)
        #expect(
            RangeField(CacheRequest(url: "http://a/", fields: HTTPFields(lines: ["Range: bytes=0-1", "Range: bytes=0-1"]))) == .ignored)
        #expect(RangeField(CacheRequest(url: "http://a/")) == nil)
    }
}
