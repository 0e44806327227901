import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// What broken-off downloads leave, seen from outside (YTK-12; defect 59: access to what a download can go on with).
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1))) struct PartialDownloadTests {
    private let body = bytes(1000)

    @Test func itSaysWhatIsThere() async throws {
        try await withResumeWire { wire async throws in
            #expect(PartialDownload.of(wire.file) == nil)
            try await wire.breakOff(after: 400, of: tagged(body))
            let partial = try #require(PartialDownload.of(wire.file))
            #expect(partial.file.path == wire.file.path && partial.url == wire.wire.url + "/")
            #expect(partial.validator == "\"v1\"" && partial.bytes == 400 && partial.total == 1000)
            #expect(abs(partial.changed.timeIntervalSinceNow) < 60)
            #expect(try PartialDownload.all(in: URL(fileURLWithPath: wire.folder.path)) == [partial])
            let record = wire.folder.path + "/file.scopednet-resume"
            let mode = try FileManager.default.attributesOfItem(atPath: record)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            try partial.remove()
            try partial.remove()
            #expect(wire.folder.names == [])
        }
    }

    /// The record of a folder that others may write to is no reason to touch another file.
    @Test func aRecordThatNamesAnotherFileIsNone() async throws {
        try await withResumeWire { wire async throws in
            try await wire.breakOff(after: 400, of: tagged(body))
            let record = try #require(wire.folder.contents(of: "file.scopednet-resume"))
            let text = String(decoding: record, as: UTF8.self)
            #expect(text.contains("\"name\":\"file\""))
            let forged = text.replacingOccurrences(of: "\"name\":\"file\"", with: "\"name\":\"other\"")
            _ = wire.folder.write(forged, to: "file.scopednet-resume")
            #expect(try PartialDownload.all(in: URL(fileURLWithPath: wire.folder.path)) == [])
        }
    }

    @Test func secretsOfTheURLStayOut() async throws {
        try await withResumeWire { wire async throws in
            wire.server.enqueue(tagged(body).ending(.truncate(afterBytes: 400)), for: "/")
            let url = wire.wire.url.replacingOccurrences(of: "http://", with: "http://user:secret@")
            _ = try await wire.wire.session.download(url + "/", to: wire.file).failure()
            let record = try #require(wire.folder.contents(of: "file.scopednet-resume"))
            #expect(!String(decoding: record, as: UTF8.self).contains("secret"))
        }
    }

    @Test func cleaningUp() async throws {
        try await withResumeWire { wire async throws in
            let folder = URL(fileURLWithPath: wire.folder.path)
            _ = wire.folder.write("a file", to: "other")
            _ = wire.folder.write("half", to: "orphan.scopednet-part")
            _ = wire.folder.write("{}", to: "lonely.scopednet-resume")
            try await wire.breakOff(after: 400, of: tagged(body))
            #expect(try PartialDownload.all(in: folder).count == 1)
            #expect(try PartialDownload.removeAll(in: folder, olderThan: .seconds(3600)) == 0)
            // One is under way.
            wire.server.on("/busy", tagged(body).stalling(.afterBytes(10)))
            let busy = wire.wire.session.download(wire.wire.url + "/busy", to: folder.appending(path: "busy")).start()
            try await wire.server.waitForStalls()
            #expect(try PartialDownload.removeAll(in: folder) == 3)
            #expect(wire.folder.names == ["busy.scopednet-part", "busy.scopednet-resume", "other"])
            wire.server.releaseStalls()
            await wire.wire.agent.waitUntilIdle()
            #expect(busy.status.cancelReason == nil)
            #expect(wire.folder.contents(of: "busy") == body && wire.folder.names == ["busy", "other"])
        }
    }

    @Test func aFolderThatCannotBeRead() {
        let error = #expect(throws: NetworkError.self) { try PartialDownload.all(in: URL(fileURLWithPath: "/no/such/folder")) }
        #expect(error?.code == .fileUnreadable)
    }
}
