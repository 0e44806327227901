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

    /// The bytes themselves: a store that an older build wrote has to be read, or its version raised.
    @Test func theFormIsTheOneOfItsVersion() throws {
        let stored = StoredResponse(
            head: CacheHead(status: 200, reason: "OK", fields: [.age: "5"]), method: .get, requestTime: WallTime(secondsSince1970: 1),
            responseTime: WallTime(secondsSince1970: 2), vary: VaryRule(names: ["a"], selections: [["b"], [nil]]),
            content: .part(try #require(Self.range), completeLength: nil), isInvalidated: true, version: "v", sensitiveValue: "s")
        func number(_ value: UInt64) -> [UInt8] { withUnsafeBytes(of: value.littleEndian) { Array($0) } }
        func text(_ value: String) -> [UInt8] { [UInt8(value.utf8.count), 0, 0, 0] + Array(value.utf8) }
        let head: [UInt8] = number(200) + text("OK") + text("GET") + number((1.0).bitPattern) + number((2.0).bitPattern)
        let middle: [UInt8] = [1] + text("v") + [1] + text("s") + [2] + number(2) + number(7) + number(.max)
        let end: [UInt8] = [1, 0, 0, 0] + text("Age") + text("5") + [1, 0, 0, 0] + text("a") + [2, 0, 0, 0, 1] + text("b") + [0]
        #expect(StoredResponse.codingVersion == 1 && Array(stored.encoded()) == head + middle + end)
    }

    /// A flag that is neither, a status that is none, lengths and counts that cannot be.
    @Test func whatWasNeverWrittenIsRefused() throws {
        let whole = try #require(ByteRange(0, 4))
        for content in [
            StoredContent.complete(length: -1), .part(whole, completeLength: 3), .part(whole, completeLength: -2),
            .verbatim(range: "r", length: -1),
        ] {
            #expect(StoredResponse(decoding: response(content).encoded()) == nil)
        }
        for content in [
            StoredContent.complete(length: 0), .part(whole, completeLength: 4), .part(whole, completeLength: nil),
            .verbatim(range: "r", length: 0),
        ] {
            #expect(StoredResponse(decoding: response(content).encoded()) != nil)
        }
        for (status, isRead) in [(99, false), (100, true), (999, true), (1000, false)] {
            var stored = response()
            stored.head.status = status
            #expect((StoredResponse(decoding: stored.encoded()) != nil) == isRead)
        }
        for (byte, isRead) in [(UInt8(0x1f), false), (0x20, true), (0x7e, true), (0x7f, false), (0x80, true), (0x09, true), (0x0a, false)] {
            var data = response(fields: [.server: "abXcd"]).encoded()
            let place = try #require(data.firstIndex(of: UInt8(ascii: "X")))
            data[place] = byte
            #expect((StoredResponse(decoding: data) != nil) == isRead, "\(byte)")
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

    /// Whole words, and what is left of them; also of OpenSSL's implementation.
    @Test(arguments: [
        (7, "a1f1ebbed8dbc153c0b84aa61ff08239"), (8, "3b62a9ba6258f5610f83e264f31497b4"), (9, "264499060ad9baabc47f8b02bb6d71ed"),
        (15, "5493e99933b0a8117e08ec0f97cfc3d9"), (16, "6ee2a4ca67b054bbfd3315bf85230577"), (33, "77c6077146f01c32b6b69d5f4ea9ffcf"),
        (63, "5150d1772f50834a503e069a973fbd7c"),
    ])
    func longerMessages(count: UInt8, text: String) throws {
        let hash = try #require(SipHash(key: Array(0..<16)))
        #expect(hash.text(Array(0..<count)) == text)
        let words = SipHash(key0: 0x0706_0504_0302_0100, key1: 0x0f0e_0d0c_0b0a_0908)
        #expect(words.text(Array(0..<count)) == text)
    }

    @Test func keysHaveSixteenBytes() {
        #expect(SipHash(key: Array(0..<15)) == nil && SipHash(key: Array(0..<17)) == nil)
    }
}
