import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// Downloads that go on where another broke off, against a server that keeps the rules (YTK-12, SES-4, SES-9, SES-15; defects 2, 3, 4, 33).
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1))) struct ResumeWireTests {
    private let body = bytes(1000)

    // SES-12
    @Test func theRestIsAskedForAndNothingElse() async throws {
        try await withResumeWire { wire async throws in
            _ = wire.folder.write("old", to: "file")
            wire.server.on("/", tagged(body))
            wire.server.enqueue(tagged(body).ending(.truncate(afterBytes: 400)), for: "/")
            let error = try await wire.download().failure()
            #expect(error.code == .truncatedBody && error.resumableBytes == 400, "\(error)")
            #expect(wire.content == Data("old".utf8))
            #expect(wire.part == body.prefix(400))
            #expect(wire.folder.names == ["file"] + ResumeWire.leftovers)
            let response = try await wire.download().response()
            #expect(wire.latest("range") == "bytes=400-" && wire.latest("if-range") == "\"v1\"")
            let sent = try await wire.bytesOfLatest()
            #expect(sent == 600)
            #expect(response.status == 200 && response.head.contentLength == 1000 && response.head["content-range"] == nil)
            #expect(response.resumedBytes == 400)
            #expect(wire.content == body)
            #expect(wire.folder.names == ["file"])
        }
    }

    /// SES-11: the question is put when a file begins, at once or late, and its answer does not cost the part.
    @Test(arguments: [false, true]) func aHookThatAllowsTheBodyKeepsThePart(_ isLate: Bool) async throws {
        let asked = Gathered<Int64?>()
        try await withResumeWire {
            $0.options.hooks.disposition = { arrival in
                asked.add(arrival.head.contentLength)
                if isLate { try await Task.sleep(for: .milliseconds(50)) }
                return .allow
            }
        } _: { wire async throws in
            wire.server.on("/", tagged(body))
            wire.server.enqueue(tagged(body).ending(.truncate(afterBytes: 400)), for: "/")
            let error = try await wire.download().failure()
            #expect(error.code == .truncatedBody && error.resumableBytes == 400, "\(error)")
            #expect(wire.part == body.prefix(400) && wire.folder.names == ResumeWire.leftovers)
            let response = try await wire.download().response()
            #expect(wire.latest("range") == "bytes=400-" && response.resumedBytes == 400)
            #expect(wire.content == body && wire.folder.names == ["file"])
            #expect(asked.all == [1000])
        }
    }

    struct Refusal: Error {}

    @Test func aHookThatRefusesAnotherFileLeavesThePart() async throws {
        try await withResumeWire { wire async throws in
            try await wire.breakOff(after: 400, of: tagged(body))
            let other = bytes(2_000)
            wire.server.enqueue(tagged(other, "v2"), for: "/")
            let refused = try await wire.download().decideDisposition { _ in throw Refusal() }.failure()
            #expect(refused.code == .hookFailed && refused.resumableBytes == 400, "\(refused)")
            #expect(wire.part == body.prefix(400) && wire.folder.names == ResumeWire.leftovers)
            wire.server.on("/", tagged(body))
            let response = try await wire.download().decideDisposition { _ in .allow }.response()
            #expect(response.resumedBytes == 400 && wire.content == body && wire.folder.names == ["file"])
        }
    }

    /// The part that was there goes when the body of the other file is let in.
    @Test func aHookThatAllowsAnotherFileBeginsAnew() async throws {
        try await withResumeWire { wire async throws in
            try await wire.breakOff(after: 400, of: tagged(body))
            let other = bytes(2_000)
            wire.server.enqueue(tagged(other, "v2").ending(.truncate(afterBytes: 700)), for: "/")
            let error = try await wire.download().decideDisposition { _ in .allow }.failure()
            #expect(error.resumableBytes == 700 && wire.part == other.prefix(700), "\(error)")
            wire.server.on("/", tagged(other, "v2"))
            let response = try await wire.download().decideDisposition { _ in .allow }.response()
            #expect(response.resumedBytes == 700 && wire.content == other && wire.folder.names == ["file"])
        }
    }

    /// Nothing of the other file came: what there was is all there is, with a hook and without.
    @Test(arguments: [false, true]) func anotherFileOfWhichNoByteCameLeavesThePart(_ isAsked: Bool) async throws {
        try await withResumeWire { wire async throws in
            try await wire.breakOff(after: 400, of: tagged(body))
            wire.server.enqueue(tagged(bytes(2_000), "v2").ending(.truncate(afterBytes: 0)), for: "/")
            let download = isAsked ? wire.download().decideDisposition { _ in .allow } : wire.download()
            let error = try await download.failure()
            #expect(error.code == .truncatedBody && error.resumableBytes == 400, "\(error)")
            #expect(wire.part == body.prefix(400) && wire.folder.names == ResumeWire.leftovers)
            // The server went back to the first one.
            wire.server.on("/", tagged(body))
            let response = try await wire.download().response()
            #expect(response.resumedBytes == 400 && wire.content == body && wire.folder.names == ["file"])
        }
    }

    /// A file without a byte takes the place of the part, too.
    @Test(arguments: [false, true], [nil, "v2"]) func anotherFileThatIsEmpty(_ isAsked: Bool, _ tag: String?) async throws {
        try await withResumeWire { wire async throws in
            try await wire.breakOff(after: 400, of: tagged(body))
            wire.server.enqueue(tag.map { tagged(Data(), $0) } ?? ScriptedResponse.ok(), for: "/")
            let response = try await (isAsked ? wire.download().decideDisposition { _ in .allow } : wire.download()).response()
            #expect(response.resumedBytes == 0 && wire.content == Data() && wire.folder.names == ["file"])
        }
    }

    @Test func withoutTheOptionNothingIsLeft() async throws {
        try await withResumeWire { wire async throws in
            wire.server.on("/", tagged(body))
            wire.server.enqueue(tagged(body).ending(.truncate(afterBytes: 400)), for: "/")
            let error = try await wire.download { $0.downloads.resumes = false }.failure()
            #expect(error.resumableBytes == nil)
            #expect(wire.folder.names == [])
        }
    }

    /// At every byte of a small file, again and again until it is there.
    @Test(arguments: [1, 2, 7, 99, 100]) func cutAtEveryStep(_ step: Int) async throws {
        let body = bytes(100)
        try await withResumeWire { wire async throws in
            wire.server.on("/") { _ in tagged(body).ending(.truncate(afterBytes: step)) }
            var tries = 0
            while wire.content == nil, tries < 200 {
                tries += 1
                _ = await wire.download().outcome()
            }
            #expect(wire.content == body)
            #expect(tries == (step == 100 ? 1 : (100 + step - 1) / step) || step == 1 && tries == 100, "\(tries) tries")
            #expect(wire.folder.names == ["file"])
        }
    }

    @Test func retriesOfOneRunGoOnToo() async throws {
        try await withResumeWire {
            $0.options.retry = RetryPolicy(maxAttempts: 4, backoffBase: .milliseconds(1))
        } _: { wire async throws in
            wire.server.on("/", tagged(body))
            wire.server.enqueue(tagged(body).ending(.truncate(afterBytes: 300)), for: "/")
            wire.server.enqueue(.status(503), for: "/")
            wire.server.enqueue(tagged(body).ending(.reset(afterBytes: 200)), for: "/")
            _ = try await wire.download().response()
            let ranges = wire.server.requests.map { $0["range"] }
            #expect(ranges.prefix(3) == [nil, "bytes=300-", "bytes=300-"] && ranges.count == 4)
            #expect(wire.content == body)
        }
    }

    /// A server may drop the part of the file it sends first (RFC 9110 section 15.3.7): what came counts, and the next attempt goes on.
    @Test func aShorterRangeIsAPieceOfTheRest() async throws {
        try await withResumeWire { wire async throws in
            try await wire.breakOff(after: 400, of: tagged(body))
            wire.server.enqueue(
                ScriptedResponse(
                    status: 206, headers: ["Content-Range": "bytes 400-599/1000", "ETag": "\"v1\""], body: .bytes(Array(body[400..<600]))),
                for: "/")
            let error = try await wire.download().failure()
            #expect(error.code == .truncatedBody && error.resumableBytes == 600)
            wire.server.on("/", tagged(body))
            _ = try await wire.download().response()
            #expect(wire.latest("range") == "bytes=600-")
            #expect(wire.content == body)
        }
    }

    @Test func anotherVersionBeginsAnewInTheSameExchange() async throws {
        let other = Data(bytes(700).reversed())
        try await withResumeWire { wire async throws in
            try await wire.breakOff(after: 400, of: tagged(body))
            wire.server.on("/", tagged(other, "v2"))
            let response = try await wire.download().response()
            #expect(wire.latest("if-range") == "\"v1\"" && wire.server.requests.count == 2)
            #expect(response.resumedBytes == 0)
            #expect(wire.content == other && wire.folder.names == ["file"])
        }
    }

    @Test func anotherVersionThatBreaksOffIsTheOneThatGoesOn() async throws {
        let other = Data(bytes(700).reversed())
        try await withResumeWire { wire async throws in
            try await wire.breakOff(after: 400, of: tagged(body))
            try await wire.breakOff(after: 30, of: tagged(other, "v2"))
            #expect(wire.part == other.prefix(30))
            wire.server.on("/", tagged(other, "v2"))
            _ = try await wire.download().response()
            #expect(wire.latest("range") == "bytes=30-" && wire.latest("if-range") == "\"v2\"")
            #expect(wire.content == other)
        }
    }

    @Test func aDateWillDoWhereItIsStrong() async throws {
        let response = ScriptedResponse(
            headers: ["Last-Modified": "Sat, 05 Nov 1994 08:49:37 GMT", "Date": "Sun, 06 Nov 1994 08:49:37 GMT"],
            body: .bytes(Array(body))
        ).with { $0.acceptsRanges = true }
        try await withResumeWire { wire async throws in
            try await wire.breakOff(after: 400, of: response)
            wire.server.on("/", response)
            _ = try await wire.download().response()
            #expect(wire.latest("if-range") == "Sat, 05 Nov 1994 08:49:37 GMT")
            let sent = try await wire.bytesOfLatest()
            #expect(sent == 600)
            #expect(wire.content == body)
        }
    }

    @Test func whatCannotBeGoneOnWithIsNotKept() async throws {
        let responses: [ScriptedResponse] = [
            .ok(.bytes(Array(body))), .ok(.bytes(Array(body))).header("ETag", "W/\"v1\""), tagged(body).header("Accept-Ranges", "none"),
            tagged(body).header("Content-Encoding", "gzip"),
        ]
        for response in responses {
            try await withResumeWire { wire async throws in
                wire.server.on("/", response)
                wire.server.enqueue(response.ending(.truncate(afterBytes: 400)), for: "/")
                let error = try await wire.download().failure()
                #expect(error.resumableBytes == nil)
                #expect(wire.folder.names == [])
                _ = await wire.download().outcome()
                #expect(wire.latest("range") == nil)
            }
        }
    }

    @Test func aCodedBodyIsDecodedIntoTheFile() async throws {
        let coded = CodedBodies.gzip(CodedBodies.text)
        try await withResumeWire { wire async throws in
            try await wire.breakOff(after: 400, of: tagged(body))
            wire.server.on("/", ScriptedResponse.ok(.bytes(coded)).header("Content-Encoding", "gzip").header("ETag", "\"v2\""))
            _ = try await wire.download().response()
            #expect(wire.latest("accept-encoding") == "identity")
            #expect(wire.content == Data(CodedBodies.text))
            #expect(wire.folder.names == ["file"])
        }
    }

    @Test func errorsLeaveThePart() async throws {
        try await withResumeWire { wire async throws in
            try await wire.breakOff(after: 400, of: tagged(body))
            for status in [401, 403, 429, 500, 503] {
                wire.server.enqueue(ScriptedResponse.ok("an error page").with { $0.status = status }, for: "/")
                let error = try await wire.download().failure()
                #expect(error.code == .unacceptableStatus && error.response?.status == status && error.resumableBytes == 400)
                #expect(wire.part == body.prefix(400))
            }
            // It is gone for good.
            wire.server.enqueue(.status(404), for: "/")
            let error = try await wire.download().failure()
            #expect(error.resumableBytes == nil)
            #expect(wire.folder.names == [])
        }
    }

    @Test func aPageOfAnotherTypeLeavesThePart() async throws {
        try await withResumeWire {
            $0.options.validation.contentTypes = .only(["image/*"])
        } _: { wire async throws in
            let image = tagged(body).header("Content-Type", "image/png")
            try await wire.breakOff(after: 400, of: image)
            wire.server.enqueue(ScriptedResponse.ok("log in").tagged("portal"), for: "/")
            let error = try await wire.download().failure()
            #expect(error.code == .unacceptableContentType && error.resumableBytes == 400)
            #expect(wire.part == body.prefix(400))
            // A 206 need not repeat the type.
            wire.server.enqueue(
                ScriptedResponse(
                    status: 206, headers: ["Content-Range": "bytes 400-999/1000", "ETag": "\"v1\""], body: .bytes(Array(body[400...]))),
                for: "/")
            let response = try await wire.download().response()
            #expect(response.head.mimeType == "image/png")
            #expect(wire.content == body)
        }
    }

    @Test func anEmptyFile() async throws {
        try await withResumeWire { wire async throws in
            wire.server.on("/", tagged(Data()))
            _ = try await wire.download().response()
            #expect(wire.content == Data() && wire.folder.names == ["file"])
        }
    }

    /// All had come, and the process died before the file got its name.
    @Test func aCompletePartAsksForItsLastByte() async throws {
        try await withResumeWire { wire async throws in
            try await wire.breakOff(after: 999, of: tagged(body))
            _ = wire.folder.write(body, to: "file.scopednet-part")
            wire.server.on("/", tagged(body))
            let response = try await wire.download().response()
            #expect(wire.latest("range") == "bytes=999-" && response.resumedBytes == 999)
            #expect(wire.content == body && wire.folder.names == ["file"])
        }
    }

    // MARK: Parts that do not fit the request

    @Test func anotherRequestBeginsAnew() async throws {
        try await withResumeWire { wire async throws in
            wire.server.on("/other", tagged(body))
            wire.server.on("/", tagged(body))
            try await wire.breakOff(after: 400, of: tagged(body))
            _ = try await wire.download("/other").response()
            #expect(wire.latest("range") == nil)
            try await wire.breakOff(after: 400, of: tagged(body))
            _ = try await wire.wire.session.download(wire.wire.url + "/", to: wire.file, headers: [.accept: "image/png"]).response()
            #expect(wire.latest("range") == nil)
            #expect(wire.content == body && wire.folder.names == ["file"])
        }
    }

    @Test func aRangeOfTheCallersOwnIsLeftAlone() async throws {
        try await withResumeWire { wire async throws in
            wire.server.on("/", tagged(body))
            try await wire.breakOff(after: 400, of: tagged(body))
            let request = wire.wire.session.download(wire.wire.url + "/", to: wire.file, headers: [.range: "bytes=10-19"])
            let response = try await request.response()
            #expect(wire.latest("range") == "bytes=10-19" && wire.latest("if-range") == nil)
            #expect(response.status == 206 && wire.content == body[10..<20])
        }
    }

    @Test func aPartWithoutItsRecordAndTheReverse() async throws {
        for missing in ResumeWire.leftovers {
            try await withResumeWire { wire async throws in
                try await wire.breakOff(after: 400, of: tagged(body))
                try FileManager.default.removeItem(atPath: wire.folder.path + "/" + missing)
                wire.server.on("/", tagged(body))
                _ = try await wire.download().response()
                #expect(wire.latest("range") == nil)
                #expect(wire.content == body && wire.folder.names == ["file"])
            }
        }
    }

    /// The file says how long it is, and the record how long it may be.
    @Test func thePartsOwnLengthCounts() async throws {
        for (count, range) in [(100, "bytes=100-"), (1001, nil), (0, nil)] as [(Int, String?)] {
            try await withResumeWire { wire async throws in
                try await wire.breakOff(after: 400, of: tagged(body))
                let part = count <= 1000 ? body.prefix(count) : body + Data([0])
                _ = wire.folder.write(Data(part), to: "file.scopednet-part")
                wire.server.on("/", tagged(body))
                _ = try await wire.download().response()
                #expect(wire.latest("range") == range)
                #expect(wire.content == body && wire.folder.names == ["file"])
            }
        }
    }

    @Test func aFolderThatIsMovedTakesItsDownloadsAlong() async throws {
        try await withResumeWire { wire async throws in
            try await wire.breakOff(after: 400, of: tagged(body))
            let moved = wire.folder.path + "/moved"
            try FileManager.default.createDirectory(atPath: moved, withIntermediateDirectories: true)
            for name in ResumeWire.leftovers {
                try FileManager.default.moveItem(atPath: wire.folder.path + "/" + name, toPath: moved + "/" + name)
            }
            wire.server.on("/", tagged(body))
            _ = try await wire.wire.session.download(wire.wire.url + "/", to: URL(fileURLWithPath: moved + "/file")).response()
            #expect(wire.latest("range") == "bytes=400-")
            #expect(FileManager.default.contents(atPath: moved + "/file") == body)
        }
    }

    // MARK: Redirects

    @Test func redirectsAreFollowedAndTheRestIsAskedForThere() async throws {
        try await withResumeWire { wire async throws in
            wire.server.enqueue(.redirect(to: "/signed?one"), for: "/")
            wire.server.enqueue(tagged(body).ending(.truncate(afterBytes: 400)), for: "/signed")
            _ = try await wire.download().failure()
            wire.server.on("/", .redirect(to: "/signed?two"))
            wire.server.on("/signed", tagged(body))
            let response = try await wire.download().response()
            #expect(wire.latest("range") == "bytes=400-" && response.resumedBytes == 400)
            #expect(wire.content == body)
        }
    }

    /// The tag is the same by accident; another resource may have any.
    @Test func aRedirectElsewhereBeginsAnew() async throws {
        let other = Data(body.reversed())
        try await withResumeWire { wire async throws in
            wire.server.enqueue(.redirect(to: "/a"), for: "/")
            wire.server.enqueue(tagged(body).ending(.truncate(afterBytes: 400)), for: "/a")
            _ = try await wire.download().failure()
            wire.server.on("/", .redirect(to: "/b"))
            wire.server.on("/b", tagged(other))
            _ = try await wire.download().response()
            #expect(wire.content == other)
        }
    }
}
