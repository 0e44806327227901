import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// A range is one of the bytes as they are sent (RFC 9110 section 14.2): no coding is offered with one, and a part of coded bytes is not decoded.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct RangeCodingTests {
    private static let plain = Data(repeating: UInt8(ascii: "a"), count: 1000)
    private static let coded = Data(base64Encoded: "H4sIAAAAAAACA0tMHAWjYBQMdwAAA9o4mugDAAA=") ?? Data()

    private static let whole = ScriptedResponse.ok("0123456789").header("Cache-Control", "max-age=60").header("ETag", "\"1\"")
        .header("Accept-Ranges", "bytes")

    private static func part(_ range: Range<Int>) -> ScriptedResponse {
        ScriptedResponse(
            status: 206,
            headers: ["Content-Encoding": "gzip", "Content-Range": "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(coded.count)"],
            body: .bytes(Array(coded[range])))
    }

    @Test func aRangeIsAskedForAsItIs() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok())
            _ = try await wire.session.request(wire.url + "/", headers: [.range: "bytes=0-3"]).response()
            _ = try await wire.session.request(wire.url + "/", headers: [.range: "bytes=0-3", .acceptEncoding: "br"]).response()
            _ = try await wire.session.with { $0.headers[.range] = "bytes=0-3" }.request(wire.url + "/").response()
            _ = try await wire.send()
            #expect(
                wire.server.requests.map { $0["accept-encoding"] }
                    == ["identity", "br", "identity", ContentDecoder.acceptEncodingValue])
        }
    }

    @Test func aPartOfCodedBytesStaysAsItCame() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", Self.part(4..<10))
            let headers: HTTPFields = [.range: "bytes=4-9"]
            let response = try await wire.session.request(wire.url + "/", headers: HeaderFields(headers)).response()
            #expect(response.body == Self.coded[4..<10] && response.head["content-encoding"] == "gzip")
            let stream = try await wire.session.stream(wire.url + "/", headers: HeaderFields(headers))
            var streamed = Data()
            for try await piece in stream.bytes { streamed += piece }
            #expect(streamed == Self.coded[4..<10])
            let folder = TemporaryFolder()
            _ = try await wire.session.download(wire.url + "/", to: URL(filePath: folder.path + "/part"), headers: HeaderFields(headers))
                .response()
            #expect(folder.contents(of: "part") == Self.coded[4..<10])
        }
    }

    /// `bytes=0-` is a way to ask whether a server knows ranges: all of the bytes are there.
    @Test func aRangeOfAllBytesIsDecoded() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", Self.part(0..<Self.coded.count))
            let response = try await wire.session.request(wire.url + "/", headers: [.range: "bytes=0-"]).response()
            #expect(response.body.isSame(as: Self.plain))
        }
    }

    @Test func aPartOfWhatIsStoredStaysAsItIsStored() async throws {
        try await withCache { cached async throws in
            cached.server.on(
                "/", ScriptedResponse.ok(.bytes(Array(Self.coded))).header("Cache-Control", "max-age=60").header("Content-Encoding", "gzip")
            )
            #expect(try await cached.get().body.isSame(as: Self.plain))
            let part = try await cached.wire.session.request(cached.server.url + "/", headers: [.range: "bytes=4-9"]).response()
            #expect(part.status == 206 && part.source == .cache && part.body == Self.coded[4..<10])
        }
    }

    /// A beginning that is not coded is gone on with by bytes that are not, though the request that broke off offered codings.
    @Test func theRestOfAStoredBeginningIsAskedForAsTheBeginningIs() async throws {
        try await withCache { cached async throws in
            let whole = Self.whole
            cached.server.enqueue(whole.ending(.truncate(afterBytes: 4)))
            cached.server.enqueue(
                ScriptedResponse(
                    status: 206, headers: ["Content-Range": "bytes 4-9/10", "ETag": "\"1\""], body: .bytes(Array("456789".utf8))))
            _ = try await cached.wire.get().failure()
            #expect(try await cached.get().body == Data("0123456789".utf8))
            let rest = try #require(cached.server.requests.last)
            #expect(rest["range"] == "bytes=4-" && rest["accept-encoding"] == "identity")
        }
    }

    /// A server that has lost count of its codings: the tag is the same, the bytes are others.
    @Test func aRestOfAnotherCodingIsNotJoined() async throws {
        try await withCache { cached async throws in
            let whole = Self.whole
            cached.server.enqueue(whole.ending(.truncate(afterBytes: 4)))
            cached.server.enqueue(
                ScriptedResponse(
                    status: 206, headers: ["Content-Encoding": "gzip", "Content-Range": "bytes 4-9/10", "ETag": "\"1\""],
                    body: .bytes(Array("ABCDEF".utf8))))
            cached.server.on("/", whole)
            _ = try await cached.wire.get().failure()
            #expect(try await cached.get().body == Data("0123456789".utf8))
            #expect(cached.server.requests.map { $0["range"] } == [nil, "bytes=4-", nil])
        }
    }
}
