import CleanSlate
import Foundation
import HTTPTypes
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct StoredResponseCodingTests {
    private func response(
        _ content: StoredContent = .complete(length: 5), vary: VaryRule = VaryRule(names: [], selections: [[]]), fields: HTTPFields = [:]
    ) -> StoredResponse {
        StoredResponse(
            head: CacheHead(status: 203, reason: "Fine, thänks", fields: fields), method: .get,
            requestTime: WallTime(secondsSince1970: 1_700_000_000.25), responseTime: WallTime(secondsSince1970: 1_700_000_001.5),
            vary: vary,
            content: content, isInvalidated: true, version: "3", sensitiveValue: "abc")
    }

    private static let range = ByteRange(2, 7)

    @Test func whatIsWrittenIsReadAgain() throws {
        var fields: HTTPFields = [.contentType: "text/plain", .eTag: "\"x\""]
        fields.append(HTTPField(name: .setCookie, value: "a=1"))
        fields.append(HTTPField(name: .setCookie, value: "b=2"))
        // Bytes above 0x7F as they came.
        fields.append(HTTPField(name: .server, value: [0x66, 0xe9, 0x21] as [UInt8]))
        let range = try #require(Self.range)
        let contents: [StoredContent] = [
            .complete(length: 0), .complete(length: .max), .part(range, completeLength: nil), .part(range, completeLength: 10),
            .verbatim(range: "bytes=-5", length: 5),
        ]
        let rules = [
            VaryRule(names: [], selections: [[]]), VaryRule(names: ["accept", "cookie"], selections: [["a", nil], [nil, "b"]]),
        ]
        for content in contents {
            for rule in rules {
                let stored = response(content, vary: rule, fields: fields)
                #expect(StoredResponse(decoding: stored.encoded()) == stored)
            }
        }
    }

    @Test func whatIsStillComingIsNotReadAgain() {
        #expect(StoredResponse(decoding: response(.pending(.whole(length: 5))).encoded()) == nil)
    }

    @Test func everyPrefixAndEveryFlippedBitIsRefusedOrHarmless() {
        let data = response(vary: VaryRule(names: ["accept"], selections: [["a"], [nil]]), fields: [.eTag: "\"x\""]).encoded()
        for count in 0..<data.count { #expect(StoredResponse(decoding: data.prefix(count)) == nil) }
        #expect(StoredResponse(decoding: data + [0]) == nil)
        for bit in 0..<(data.count * 8) {
            var flipped = data
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            // Read or refused: either way nothing traps, and what is read can be written.
            if let read = StoredResponse(decoding: flipped) { #expect(StoredResponse(decoding: read.encoded()) == read) }
        }
    }
}

/// The vectors of the reference implementation: key 00 to 0f, messages 00, 00 01, 00 01 02, …
@Suite(.leavesNothing) struct SipHashTests {
    @Test func isTheReferenceImplementations() throws {
        let hash = try #require(SipHash(key: Array(0..<16)))
        #expect(hash.text([]) == "a3817f04ba25a8e66df67214c7550293")
        #expect(hash.text([0]) == "da87c1d86b99af44347659119b22fc45")
        #expect(hash.text([0, 1]) == "8177228da4a45dc7fca38bdef60affe4")
    }

    @Test func keysHaveSixteenBytes() {
        #expect(SipHash(key: Array(0..<15)) == nil)
    }
}
