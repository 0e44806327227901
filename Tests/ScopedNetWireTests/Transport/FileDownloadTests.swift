import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// SES-9
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct FileDownloadTests {
    private let folder = TemporaryFolder()
    private var file: URL { URL(fileURLWithPath: folder.path + "/file") }

    private func expectUntouched(_ response: ScriptedResponse, _ code: NetworkError.Code) async throws {
        _ = folder.write("old", to: "file")
        try await withWire { wire async throws in
            wire.server.on("/", response)
            let error = try await wire.session.download(wire.url + "/", to: file).failure()
            #expect(error.code == code, "\(error)")
        }
        #expect(folder.contents(of: "file") == Data("old".utf8))
        #expect(folder.names == ["file"], "a temporary file was left behind")
    }

    // Defect 2
    @Test(arguments: [0, 10, 5_000_000])
    func theFileIsReplacedByTheWholeBody(_ size: Int) async throws {
        _ = folder.write("old", to: "file")
        try await withWire { wire async throws in
            wire.server.on("/", .ok(.bytes(Array(bytes(size)))))
            let response = try await wire.session.download(wire.url + "/", to: file).response()
            #expect(response.value == file)
            #expect(response.body.isEmpty)
        }
        #expect(folder.contents(of: "file").isSame(as: bytes(size)))
        #expect(folder.names == ["file"])
    }

    // Defect 4
    @Test func nothingIsSeenBeforeItIsComplete() async throws {
        _ = folder.write("old", to: "file")
        try await withWire { wire async throws in
            wire.server.on("/", .ok("new contents").stalling(.afterBytes(5)))
            let head = Gathered<Int>()
            let (heads, continuation) = AsyncStream.makeStream(of: Void.self)
            wire.session.download(wire.url + "/", to: file).onResponseHead { _ in continuation.yield() }.onSuccess { _ in head.add(1) }
                .start()
            for await _ in heads { break }
            try await wire.server.waitForStalls()
            #expect(folder.contents(of: "file") == Data("old".utf8))
            wire.server.releaseStalls()
            await wire.agent.waitUntilIdle()
            #expect(head.all == [1])
        }
        #expect(folder.contents(of: "file") == Data("new contents".utf8))
    }

    // YTK-12, defect 4
    @Test func truncated() async throws {
        try await expectUntouched(.ok("0123456789").ending(.truncate(afterBytes: 4)), .truncatedBody)
        try await expectUntouched(.ok("0123456789").framed(.chunked).ending(.truncate(afterBytes: 4)), .truncatedBody)
        try await expectUntouched(.ok("0123456789").ending(.reset(afterBytes: 4)), .connectionLost)
    }

    // Defect 3
    @Test func anErrorPageNeverReachesTheFile() async throws {
        try await expectUntouched(.ok("not found").with { $0.status = 404 }, .unacceptableStatus)
        try await expectUntouched(.redirect(to: "ftp://elsewhere.test/"), .redirectRefused)
    }

    @Test func aStatusThatIsNotFollowedIsNotTheFile() async throws {
        try await expectUntouched(ScriptedResponse(status: 300, headers: ["Location": "/x"], body: .bytes([1])), .unacceptableStatus)
    }

    private func expectRefused(_ destination: URL, _ code: NetworkError.Code, _ message: String) async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("new"))
            let error = try await wire.session.download(wire.url + "/", to: destination).failure()
            #expect(error.code == code)
            #expect(error.message.contains(message), "\(error)")
        }
    }

    /// rename(2) would put a file in the place of a device: for root the end of `/dev/null` (defect 2).
    @Test func onlyARegularFileIsReplaced() async throws {
        try #require(mkfifo(file.path, 0o600) == 0)
        try await expectRefused(file, .fileUnwritable, "is not a regular file")
        // By Foundation: which module `stat` belongs to depends on what else is compiled along.
        func type(_ path: String) throws -> FileAttributeType? {
            try FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
        }
        let left = try type(file.path)
        #expect(left != nil && left != .typeRegular)
        try await expectRefused(URL(filePath: "/dev/null"), .fileUnwritable, "is not a regular file")
        let device = try type("/dev/null")
        #expect(device == .typeCharacterSpecial)
        #expect(folder.names == ["file"])
    }

    @Test func whatWasForFewEyesStaysSo() async throws {
        try Data("old".utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        try await withWire { wire async throws in
            wire.server.on("/", .ok("new"))
            _ = try await wire.session.download(wire.url + "/", to: file).value()
        }
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try Data(contentsOf: file) == Data("new".utf8))
    }

    @Test func aDestinationThatIsNoFile() async throws {
        let elsewhere = try #require(URL(string: "http://elsewhere.test" + file.path))
        try await expectRefused(elsewhere, .invalidOption, "must be a file URL")
        // The system would write to the path up to the NUL.
        let odd = try #require(URL(string: "file://" + file.path + "%00.txt"))
        try await expectRefused(odd, .fileUnwritable, "NUL")
        #expect(folder.names == [])
    }

    @Test(arguments: ["n", "é", "漢"])
    func theNameMayBeAsLongAsTheSystemAllows(_ letter: String) async throws {
        let name = String(repeating: letter, count: 255 / letter.utf8.count)
        try await withWire { wire async throws in
            wire.server.on("/", .ok("new"))
            _ = try await wire.session.download(wire.url + "/", to: URL(fileURLWithPath: folder.path + "/" + name)).value()
        }
        #expect(folder.names == [name])
        #expect(folder.contents(of: name) == Data("new".utf8))
    }

    @Test func aCodedBodyIsDecodedIntoTheFile() async throws {
        for sample in CodedBodies.samples {
            try await withWire { wire async throws in
                wire.server.on("/", .ok(.bytes(sample.coded)).header("Content-Encoding", sample.encoding))
                _ = try await wire.session.download(wire.url + "/", to: file).response()
                #expect(try await wire.server.takeRequest()["accept-encoding"] == "identity")
            }
            #expect(folder.contents(of: "file").isSame(as: Data(sample.decoded)), "\(sample.name)")
            #expect(folder.names == ["file"])
        }
    }

    @Test func aDamagedCodingLeavesTheFile() async throws {
        let coded = CodedBodies.gzip(CodedBodies.text)
        try await expectUntouched(
            .ok(.bytes(Array(coded[..<(coded.count / 2)]))).header("Content-Encoding", "gzip"), .contentDecodingFailed)
    }

    @Test func cancelling() async throws {
        _ = folder.write("old", to: "file")
        try await withWire { wire async throws in
            wire.server.on("/", .ok("0123456789").stalling(.afterBytes(4)))
            let run = wire.session.download(wire.url + "/", to: file).start()
            try await wire.server.waitForStalls()
            #expect(await run.cancelAndWait() == .cancelled)
            #expect(try await wire.server.takeRequest().ending() == .clientClosed)
        }
        #expect(folder.contents(of: "file") == Data("old".utf8))
        #expect(folder.names == ["file"])
    }

    @Test func aRetryBeginsTheFileAnew() async throws {
        try await withWire {
            $0.options.retry = RetryPolicy(maxAttempts: 3, backoffBase: .milliseconds(1))
        } _: { wire async throws in
            wire.server.enqueue(.ok("0123456789").ending(.truncate(afterBytes: 4)))
            wire.server.on("/", .ok("0123456789"))
            _ = try await wire.session.download(wire.url + "/", to: file).response()
            #expect(wire.server.requests.count == 2)
        }
        #expect(folder.contents(of: "file") == Data("0123456789".utf8))
        #expect(folder.names == ["file"])
    }

    @Test func aFolderThatIsNotThere() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("x"))
            wire.server.on("/empty", .ok())
            for path in ["/", "/empty"] {
                let error = try await wire.session.download(wire.url + path, to: URL(fileURLWithPath: folder.path + "/none/file")).failure()
                #expect(error.code == .fileUnwritable)
                #expect((error.underlying as? NetworkError.SystemError)?.code == ENOENT)
            }
        }
    }

    /// YTK-6: a file is looked at when its first byte is to be written: after the status, and before the coding is undone.
    @Test func aFileThatCannotBeIsTheErrorWhereItIsMet() async throws {
        try await withWire { wire async throws in
            wire.server.on("/gone", .status(404))
            wire.server.on("/coded", .ok("no gzip").header("Content-Encoding", "gzip"))
            let nowhere = URL(filePath: folder.path + "/none/file")
            let gone = try await wire.session.download(wire.url + "/gone", to: nowhere).failure()
            let coded = try await wire.session.download(wire.url + "/coded", to: nowhere).failure()
            #expect(gone.code == .unacceptableStatus && coded.code == .fileUnwritable)
        }
    }

    // Defect 2
    @Test func aFolderInPlaceOfTheFile() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("x"))
            let place = URL(filePath: folder.path, directoryHint: .notDirectory)
            let error = try await wire.session.download(wire.url + "/", to: place).failure()
            #expect(error.code == .fileUnwritable)
        }
        #expect(folder.names.isEmpty)
    }

    /// YTK-12: a URL that says it is a folder's, as `URL(fileURLWithPath:)` sees by itself.
    @Test func aFolderToPutTheFileIn() async throws {
        try await withWire { wire async throws in
            wire.server.on("/*", .ok("x"))
            let place = URL(fileURLWithPath: folder.path)
            #expect(try await wire.session.download(wire.url + "/", to: place).value() == URL(filePath: folder.path + "/download"))
            #expect(try await wire.session.download(wire.url + "/a%20b?c", to: place).value() == URL(filePath: folder.path + "/a b"))
        }
        #expect(folder.names == ["a b", "download"])
    }

    /// /dev/full behind a link would be replaced; a device that is full is shown by a limit on file size instead (THR-6).
    @Test func aFullDiskIsItsOwnError() async throws {
        #expect(NetworkError.file(ENOSPC, "x").code == .diskFull)
        #expect(NetworkError.file(EDQUOT, "x").code == .diskFull)
        #expect(NetworkError.file(EACCES, "x").code == .fileUnwritable)
    }
}
