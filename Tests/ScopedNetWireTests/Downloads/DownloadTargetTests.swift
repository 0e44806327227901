import CleanSlate
import Foundation
import Glibc
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// One target, one download (YTK-12): in this process by the folder's identity, between processes by the lock of the part.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1))) struct DownloadTargetTests {
    private let body = bytes(1000)

    @Test(arguments: [false, true]) func aSecondDownloadToTheSameFileIsRefused(_ resumes: Bool) async throws {
        try await withResumeWire { wire async throws in
            wire.server.on("/", tagged(body).stalling(.afterBytes(400)))
            let first = wire.download { $0.downloads.resumes = resumes }
            first.start()
            try await wire.server.waitForStalls()
            let link = wire.folder.path + "/link"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: wire.folder.path)
            let roundabout = wire.folder.path + "/../" + wire.file.path.split(separator: "/").suffix(2).joined(separator: "/")
            for path in [wire.file.path, roundabout, link + "/file"] {
                let error = try await wire.wire.session.download(wire.wire.url + "/", to: URL(fileURLWithPath: path)).failure()
                #expect(error.code == .targetInUse, "\(path): \(error)")
            }
            #expect(wire.server.requests.count == 1, "no byte was asked for")
            // Another file of the folder is nobody's business.
            wire.server.on("/small", .ok("x"))
            let other = URL(fileURLWithPath: wire.folder.path + "/other")
            _ = try await wire.wire.session.download(wire.wire.url + "/small", to: other).value()
            wire.server.releaseStalls()
            await wire.wire.agent.waitUntilIdle()
            guard case .success = first.result else { throw UnexpectedFailure() }
            #expect(wire.content == body)
            // And now it is free.
            _ = try await wire.wire.session.download(wire.wire.url + "/small", to: wire.file).value()
            #expect(wire.content == Data("x".utf8))
        }
    }

    /// Pause and go on: the second start waits until the first has let go of the part, and does not fail.
    @Test(arguments: 0..<20) func aCancelledDownloadMakesRoom(_ turn: Int) async throws {
        try await withResumeWire { wire async throws in
            wire.server.enqueue(tagged(body).stalling(.afterBytes(400)), for: "/")
            wire.server.on("/", tagged(body))
            let request = wire.download()
            let run = request.start()
            try await wire.server.waitForStalls()
            run.cancel()
            let response = try await request.response()
            #expect(response.status == 200 && wire.content == body)
            #expect(wire.folder.names == ["file"])
        }
    }

    @Test func itIsFreeAgainWithinTheCallbacksOfItsEnd() async throws {
        try await withResumeWire { wire async throws in
            wire.server.on("/", tagged(body))
            wire.server.enqueue(tagged(body).ending(.truncate(afterBytes: 400)), for: "/")
            let ends = Gathered<String>()
            let again = wire.download().onSuccess { _ in ends.add("second succeeded") }.onFailure { ends.add("\($0)") }
            wire.download().onFailure { _ in
                ends.add("first failed")
                again.start()
            }.start()
            await wire.wire.agent.waitUntilIdle()
            #expect(ends.all == ["first failed", "second succeeded"])
            #expect(wire.content == body)
        }
    }

    @Test func everyEndingLetsGo() async throws {
        try await withResumeWire { wire async throws in
            wire.server.on("/", tagged(body))
            wire.server.enqueue(.status(500), for: "/")
            wire.server.enqueue(.ok("x").ending(.truncate(afterBytes: 0)), for: "/")
            wire.server.enqueue(.redirect(to: "ftp://elsewhere.test/"), for: "/")
            for _ in 0..<3 { _ = try await wire.download().failure() }
            _ = try await wire.download().value()
            do {
                let bag = DeallocBag()
                wire.server.enqueue(tagged(body).stalling(.beforeHead), for: "/")
                wire.download().start(in: bag)
                try await wire.server.waitForStalls()
            }
            _ = try await wire.download().value()
            #expect(wire.content == body && wire.folder.names == ["file"])
        }
    }

    /// As another process would: a lock that is not ours.
    @Test func aPartThatAnotherProcessHolds() async throws {
        try await withResumeWire { wire async throws in
            wire.server.on("/", tagged(body))
            try await wire.breakOff(after: 400, of: tagged(body))
            let other = open(wire.folder.path + "/file.scopednet-part", O_RDWR | O_CLOEXEC)
            try #require(flock(other, LOCK_EX | LOCK_NB) == 0)
            let error = try await wire.download().failure()
            #expect(error.code == .targetInUse && error.phase == .preparing)
            #expect(wire.server.requests.count == 1)
            #expect(throws: NetworkError.self) { try PartialDownload.of(wire.file)?.remove() }
            #expect(wire.part == body.prefix(400))
            close(other)
            _ = try await wire.download().value()
            #expect(wire.content == body)
        }
    }

    /// In a folder of many users anything may have the part's name.
    @Test func whatIsNoPartIsNotTouched() async throws {
        try await withResumeWire { wire async throws in
            wire.server.on("/", tagged(body))
            let part = wire.folder.path + "/file.scopednet-part"
            let victim = wire.folder.write("precious", to: "victim")
            let plants: [() -> Int32] = [
                { symlink(victim, part) }, { link(victim, part) }, { mkfifo(part, 0o600) }, { mkdir(part, 0o700) },
            ]
            for plant in plants {
                try #require(plant() == 0)
                let error = try await wire.download().failure()
                #expect(error.code == .fileUnwritable, "\(error)")
                #expect(wire.folder.contents(of: "victim") == Data("precious".utf8))
                #expect(remove(part) == 0)
            }
            #expect(wire.server.requests.isEmpty)
        }
    }

    @Test func whatIsNoFileIsRefusedBeforeAnythingIsSent() async throws {
        try await withResumeWire { wire async throws in
            wire.server.on("/", tagged(body))
            try #require(mkfifo(wire.file.path, 0o600) == 0)
            let error = try await wire.download().failure()
            #expect(error.code == .fileUnwritable && wire.server.requests.isEmpty)
            #expect(wire.folder.names == ["file"])
        }
    }
}

private struct UnexpectedFailure: Error {}
