import CleanSlate
import Foundation
import ScopedNetTestServer
import SystemSupport
import Testing

@testable import ScopedNet

/// ``RequestOptions/Validation/check``: a program's own check of head and body.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct ResponseCheckTests {
    private struct Refused: Error, Equatable { let code: Int }

    private static let check: @Sendable (ResponseHead, Data) throws -> Void = { head, body in
        guard let code = (try? JSONDecoder().decode([String: Int].self, from: body))?["code"], code != 0 else { return }
        throw Refused(code: code)
    }

    /// Both as it is and coded, which is undone before.
    @Test(arguments: [false, true]) func whatItThrowsIsTheFailure(_ isCoded: Bool) async throws {
        func answer(_ text: String) -> ScriptedResponse {
            guard isCoded else { return .json(text) }
            return .ok(.bytes(CodedBodies.gzip([UInt8](text.utf8)))).header("Content-Encoding", "gzip")
                .header("Content-Type", "application/json")
        }
        try await withWire { wire async throws in
            wire.server.on("/bad", answer(#"{"code":17}"#))
            wire.server.on("/good", answer(#"{"code":0}"#))
            let bad = wire.session.get(wire.url + "/bad", as: [String: Int].self).validate(Self.check)
            let error = try await bad.failure()
            #expect(error.code == .unacceptableResponse && error.underlying as? Refused == Refused(code: 17))
            #expect(error.status == 200 && error.body == Data(#"{"code":17}"#.utf8) && error.url == wire.url + "/bad")
            let good = wire.session.get(wire.url + "/good", as: [String: Int].self).validate(Self.check)
            #expect(try await good.value() == ["code": 0])
            // Bytes are checked as well, though nothing is made of them.
            #expect(try await wire.session.get(wire.url + "/bad").validate(Self.check).failure().code == .unacceptableResponse)
        }
    }

    @Test func anErrorOfTheLibraryStaysWhatItIs() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("text"))
            let request = wire.get().validate { head, _ in
                throw NetworkError(.badResponse, phase: .receiving, message: "status \(head.status)")
            }
            let error = try await request.failure()
            #expect(error.code == .badResponse && error.message == "status 200")
        }
    }

    /// A refused response is not stored, and a stored one is checked.
    @Test func theCacheHasNothingThatWasRefused() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", .json(#"{"code":17}"#).header("Cache-Control", "max-age=600"))
            let session = cached.wire.session
            for _ in 0..<2 {
                #expect(try await session.get(cached.server.url + "/").validate(Self.check).failure().code == .unacceptableResponse)
            }
            #expect(cached.server.requests.count == 2)
            _ = try await session.get(cached.server.url + "/").value()
            #expect(try await session.get(cached.server.url + "/").validate(Self.check).failure().code == .unacceptableResponse)
            #expect(cached.server.requests.count == 3)
        }
    }

    @Test func itIsNotAskedAboutAStatusThatIsRefused() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .status(404))
            let error = try await wire.get().validate { _, _ in Issue.record("asked") }.failure()
            #expect(error.code == .unacceptableStatus)
        }
    }

    /// Asked before the file is replaced, about the head alone.
    @Test(arguments: [false, true]) func aRefusedDownloadReplacesNothing(_ resumes: Bool) async throws {
        let folder = TemporaryFolder()
        let path = folder.write(Data("old".utf8), to: "file")
        try await withWire { wire async throws in
            wire.server.on("/", .ok("new").header("ETag", "\"1\""))
            let asked = Lock(0)
            var download = wire.session.download(wire.url + "/", to: URL(fileURLWithPath: path))
            if resumes { download = download.resuming() }
            let refused = download.validate { head, body in
                asked.withLock { $0 += 1 }
                throw Refused(code: body.count)
            }
            let error = try await refused.failure()
            #expect(error.code == .unacceptableResponse && error.underlying as? Refused == Refused(code: 0) && error.status == 200)
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "old")
            _ = try await refused.validate { _, _ in asked.withLock { $0 += 1 } }.value()
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "new" && asked.withLock { $0 } == 2)
        }
    }

    /// A part that is whole would be taken for the file by the next request, which would not get another one.
    @Test func aRefusedDownloadLeavesNoPart() async throws {
        let folder = TemporaryFolder()
        try await withWire { wire async throws in
            let fields = ["ETag": "\"1\"", "Accept-Ranges": "bytes"]
            func answer(_ text: String) -> ScriptedResponse { fields.reduce(.ok(text)) { $0.header($1.key, $1.value) } }
            wire.server.on("/", answer("bad"))
            let download = wire.session.download(wire.url + "/", to: URL(fileURLWithPath: folder.path + "/file")).resuming()
            let error = try await download.validate { _, _ in throw Refused(code: 1) }.failure()
            #expect(error.code == .unacceptableResponse && error.resumableBytes == nil)
            #expect(folder.names.isEmpty)
            wire.server.on("/", answer("good"))
            _ = try await download.validate { _, _ in }.value()
            #expect(folder.names == ["file"] && folder.contents(of: "file") == Data("good".utf8))
            #expect(wire.server.requests.allSatisfy { $0["range"] == nil })
        }
    }

    /// The file has changed on the server since the part was begun, and cannot be gone on with: the part goes, also where no byte came in its place.
    @Test(arguments: [nil, "v2"], [0, 5]) func aRefusedDownloadOfAnotherVersionTakesThePartAway(_ tag: String?, _ count: Int) async throws {
        try await withResumeWire { wire async throws in
            _ = wire.folder.write("old", to: "file")
            try await wire.breakOff(after: 400, of: tagged(bytes(1_000)))
            let other = bytes(count)
            wire.server.enqueue(tag.map { tagged(other, $0) } ?? ScriptedResponse.ok(.bytes(Array(other))), for: "/")
            let error = try await wire.download().validate { _, _ in throw Refused(code: 1) }.failure()
            #expect(error.code == .unacceptableResponse && error.resumableBytes == nil, "\(error)")
            #expect(wire.folder.names == ["file"] && wire.content == Data("old".utf8))
        }
    }

    @Test func aStreamIsNotChecked() async throws {
        try await withWire {
            $0.options.validation.check = { _, _ in Issue.record("asked") }
        } _: { wire async throws in
            wire.server.on("/", .ok("text"))
            var count = 0
            for try await piece in try await wire.session.stream(wire.url + "/").bytes { count += piece.count }
            #expect(count == 4)
        }
    }
}
