import CleanSlate
import Foundation
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct GzipEncoderTests {
    private func decoded(_ data: Data) throws -> Data {
        try ContentCoding.decoded(data, coding: "gzip", limits: .default)
    }

    @Test(arguments: [1, 6, 9]) func whatWentInComesOut(_ level: Int) throws {
        var generator = SeededGenerator(seed: UInt64(level))
        let text = Data((0..<400_000).map { _ in UInt8.random(in: 97...104, using: &generator) })
        let encoder = try GzipEncoder(level: level)
        var output = Data()
        var start = 0
        while start < text.count {
            let end = min(text.count, start + Int.random(in: 1...90_000, using: &generator))
            output += try encoder.encode(text[start..<end], .more)
            start = end
        }
        output += try encoder.encode(Data(), .finish)
        #expect(try decoded(output) == text && output.count < text.count / 2 && encoder.bytesTaken == 400_000)
        let again = try GzipEncoder(level: level).encode(text, .finish)
        #expect(try again == GzipEncoder(level: level).encode(text, .finish))
        // Neither time nor name (RFC 1952 section 2.3).
        #expect(again.prefix(8) == Data([0x1f, 0x8b, 8, 0, 0, 0, 0, 0]))
    }

    @Test func aFlushedPieceCanBeReadAtOnce() throws {
        let encoder = try GzipEncoder(level: 6)
        let first = try encoder.encode(Data("hello ".utf8), .flush)
        let decoder = try #require(ContentDecoder.make(for: "gzip"))
        var output = Data()
        try decoder.decodeAll(first) { output.append(contentsOf: $0) }
        #expect(output == Data("hello ".utf8))
        try decoder.decodeAll(try encoder.encode(Data("world".utf8), .finish)) { output.append(contentsOf: $0) }
        try decoder.finish()
        #expect(output == Data("hello world".utf8))
    }

    @Test func nothingIsAMemberToo() throws {
        #expect(try decoded(try GzipEncoder(level: 6).encode(Data(), .finish)).isEmpty)
    }

    // MARK: Bodies

    private let text = Data(String(repeating: "All work and no play. ", count: 100).utf8)

    @Test func shortBytesAndThoseThatDoNotShrinkAreSentAsTheyAre() throws {
        #expect(RequestBody.data(text).compressed().contentEncoding == "gzip")
        #expect(RequestBody.data(text.prefix(1_023)).compressed().contentEncoding == nil)
        #expect(RequestBody.data(text.prefix(40)).compressed(minimumBytes: 0).contentEncoding == nil)
        #expect(RequestBody.data(Data()).compressed(minimumBytes: 0).contentEncoding == nil)
        var generator = SeededGenerator(seed: 4)
        let noise = Data((0..<4_000).map { _ in UInt8.random(in: 0...255, using: &generator) })
        let body = RequestBody.data(noise).compressed()
        #expect(body.contentEncoding == nil && body.length == 4_000)
    }

    @Test func theRestOfABodyIsKept() throws {
        let body = RequestBody.data(text, contentType: "text/plain").compressed(.gzip(level: 9))
        #expect(body.contentType == "text/plain" && body.isReplayable && body.length ?? 0 < 200)
        #expect(body.compressed().length == body.length)
        let large = RequestBody.data(Data(count: 300_000)).compressed()
        #expect(large.contentEncoding == "gzip" && large.length == nil && large.isReplayable)
        #expect(RequestBody.file("/x").compressed().isReplayable)
        let once = AsyncStream<Data> { $0.finish() }
        #expect(!RequestBody.stream(once).compressed().isReplayable)
        #expect(RequestBody.stream(once, isReplayable: true).compressed().isReplayable)
        let json = RequestBody.json(["a": JSONValue(String(repeating: "b", count: 2_000))]).compressed()
        #expect(json.isDeferred && json.resolved(with: .standard).contentEncoding == "gzip" && json.contentType == "application/json")
    }

    @Test(arguments: [-1, 0, 10]) func aLevelThatThereIsNot(_ level: Int) {
        #expect(RequestBody.data(text).compressed(.gzip(level: level)).failure?.code == .invalidOption)
        #expect(RequestBody.stream(AsyncStream<Data> { $0.finish() }, length: -1).compressed().failure?.code == .invalidOption)
    }
}
