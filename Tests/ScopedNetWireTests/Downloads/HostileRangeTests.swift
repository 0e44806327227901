import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// Servers that break the rules of ranges: the file is right, or it is not there (YTK-12; defects 2, 3, 33).
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1))) struct HostileRangeTests {
    private let body = bytes(1000)

    /// 206 with fields of its own and any bytes.
    private func part(_ range: String?, tag: String? = "\"v1\"", _ bytes: Data, _ more: HeaderList = [:]) -> ScriptedResponse {
        var headers = more
        if let range { headers.append("Content-Range", range) }
        if let tag { headers.append("ETag", tag) }
        return ScriptedResponse(status: 206, headers: headers, body: .bytes(Array(bytes)))
    }

    /// What answers to the request for the rest; the whole is asked for then, once, and comes.
    private func expectAnew(_ answer: ScriptedResponse, _ comment: String, _ location: SourceLocation = #_sourceLocation) async throws {
        try await withResumeWire { wire async throws in
            try await wire.breakOff(after: 400, of: tagged(body))
            wire.server.enqueue(answer, for: "/")
            wire.server.on("/", tagged(body))
            let response = try await wire.download().response()
            let ranges = wire.server.requests.map { $0["range"] }
            #expect(ranges == [nil, "bytes=400-", nil], "\(comment)", sourceLocation: location)
            #expect(wire.server.requests.last?["if-range"] == nil, "\(comment)", sourceLocation: location)
            #expect(response.resumedBytes == 0, "\(comment)", sourceLocation: location)
            #expect(wire.content == body && wire.folder.names == ["file"], "\(comment)", sourceLocation: location)
        }
    }

    @Test func aPartThatDoesNotFitIsNotAppended() async throws {
        let rest = Data(body[400...])
        let other = Data(rest.reversed())
        try await expectAnew(part("bytes 0-999/1000", body), "from the beginning")
        try await expectAnew(part("bytes 401-999/1000", Data(body[401...])), "with a gap")
        try await expectAnew(part("bytes 400-999/2000", other), "of a longer file")
        try await expectAnew(part(nil, rest), "without a range")
        try await expectAnew(part("bytes nonsense", rest), "with nonsense")
        try await expectAnew(part("bytes 400-999/1000", tag: "\"v2\"", other), "of another version")
        try await expectAnew(part("bytes 400-999/1000", tag: "W/\"v1\"", other), "with a weak tag")
        try await expectAnew(part("bytes 400-999/1000", tag: nil, other), "without a tag")
        try await expectAnew(part("bytes 400-999/1000", other, ["Content-Length": "600", "Content-Encoding": "gzip"]), "coded")
        try await expectAnew(part("bytes 400-499/1000", rest), "of another length than its range")
    }

    @Test func aMultipartMessageIsNotTheRest() async throws {
        let message = Data("--x\r\nContent-Range: bytes 400-999/1000\r\n\r\n".utf8) + body[400...] + Data("\r\n--x--\r\n".utf8)
        try await expectAnew(part(nil, message, ["Content-Type": "multipart/byteranges; boundary=x"]), "multipart")
        try await expectAnew(part("bytes 400-999/1000", message, ["Content-Type": "multipart/byteranges; boundary=x"]), "multipart, too")
    }

    @Test func itIsSaidThatNothingIsLeft() async throws {
        try await expectAnew(.status(416), "without a length")
        try await expectAnew(.status(416).header("Content-Range", "bytes */300"), "the file is shorter now")
        try await expectAnew(.status(416).header("Content-Range", "bytes */400").header("ETag", "\"v2\""), "another version")
        try await expectAnew(ScriptedResponse.ok("an error page").with { $0.status = 416 }, "with a page")
    }

    /// Of a file whose length the server had not said.
    @Test(arguments: ["", "an error page"]) func nothingIsLeftBecauseAllIsThere(_ page: String) async throws {
        try await withResumeWire { wire async throws in
            try await wire.breakOff(after: 400, of: tagged(body.prefix(600)).framed(.chunked))
            wire.server.on(
                "/", ScriptedResponse.ok(page).with { $0.status = 416 }.header("Content-Range", "bytes */400").header("ETag", "\"v1\""))
            let response = try await wire.download().response()
            #expect(response.status == 200 && response.resumedBytes == 400)
            #expect(wire.content == body.prefix(400) && wire.folder.names == ["file"])
        }
    }

    /// A part that nobody asked for would pass for the file.
    @Test(arguments: [false, true]) func aPartThatNobodyAskedFor(_ resumes: Bool) async throws {
        for range in ["bytes 0-399/1000", "bytes 600-999/1000", nil] {
            try await withResumeWire { wire async throws in
                _ = wire.folder.write("old", to: "file")
                wire.server.on("/", part(range, body.prefix(400)))
                let error = try await wire.download { $0.downloads.resumes = resumes }.failure()
                #expect(error.code == .badResponse, "\(error)")
                #expect(wire.content == Data("old".utf8) && wire.folder.names == ["file"])
            }
        }
    }

    /// Without a length of its own the body goes on as long as the server likes.
    @Test func moreBytesThanItsRange() async throws {
        try await withResumeWire { wire async throws in
            try await wire.breakOff(after: 400, of: tagged(body))
            wire.server.enqueue(part("bytes 400-999/1000", Data(body[400...]) + Data([1, 2, 3])).framed(.chunked), for: "/")
            let error = try await wire.download().failure()
            #expect(error.code == .badResponse, "\(error)")
            #expect(wire.folder.names == [], "which of the bytes are right, nobody knows")
            wire.server.on("/", tagged(body))
            _ = try await wire.download().response()
            #expect(wire.content == body)
        }
    }

    @Test func fewerBytesThanItsRange() async throws {
        try await withResumeWire { wire async throws in
            try await wire.breakOff(after: 400, of: tagged(body))
            wire.server.enqueue(part("bytes 400-999/1000", Data(body[400..<700])).framed(.chunked), for: "/")
            let error = try await wire.download().failure()
            #expect(error.code == .truncatedBody && error.resumableBytes == 700, "\(error)")
            wire.server.on("/", tagged(body))
            _ = try await wire.download().response()
            #expect(wire.content == body)
        }
    }

    /// The server that never has the part it promises costs one exchange more, not a loop.
    @Test func itNeverGoesRoundInCircles() async throws {
        try await withResumeWire {
            $0.options.retry = RetryPolicy(maxAttempts: 3, backoffBase: .milliseconds(1))
        } _: { wire async throws in
            wire.server.on("/") { [body] request in
                if request["range"] != nil { return .status(416) }
                return tagged(body).ending(.truncate(afterBytes: 400))
            }
            let error = try await wire.download().failure()
            #expect(error.code == .truncatedBody)
            #expect(wire.server.requests.count == 5, "three attempts, and two that had to begin anew")
        }
    }

    /// A body that nobody wants is not read to its end.
    @Test func whatDoesNotFitIsNotDownloaded() async throws {
        try await withResumeWire { wire async throws in
            try await wire.breakOff(after: 400, of: tagged(body))
            wire.server.enqueue(
                ScriptedResponse(status: 206, headers: ["Content-Range": "bytes 0-99/100"], body: .repeating(0, count: 1 << 30)), for: "/")
            wire.server.on("/", tagged(body))
            _ = try await wire.download().response()
            _ = try await wire.server.requests[1].ending()
            let sent = wire.server.requests[1].bodyBytesSent
            #expect(sent < 64 << 20, "\(sent) bytes")
            #expect(wire.content == body)
        }
    }
}
