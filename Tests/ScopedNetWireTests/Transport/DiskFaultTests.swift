import CleanSlate
import Foundation
import Glibc
import ScopedNetTestServer
import SystemSupport
import Testing

@_spi(Transport) @testable import ScopedNet

/// What can go wrong with a download's file: a typed error with the system's own words, nothing half-written left behind, no hang.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct DiskFaultTests {
    private func expect(_ error: NetworkError, _ code: NetworkError.Code, _ number: Int32) {
        #expect(error.code == code, "\(error)")
        #expect(error.underlying as? NetworkError.SystemError == NetworkError.SystemError(code: number), "\(error)")
        #expect(error.message.contains(String(cString: strerror(number))), "\(error)")
    }

    // MARK: A full disk

    // The same error without the privilege: `FileSinkTests`.
    @Test(.enabled(if: SmallDisk.isAllowed, "mounting a small tmpfs is refused"), arguments: [false, true])
    func aFullDisk(_ isCoded: Bool) async throws {
        let folder = TemporaryFolder()
        try #require(SmallDisk.mount(over: folder) == 0)
        defer { umount2(folder.path, Int32(MNT_DETACH)) }
        _ = folder.write("old", to: "file")
        let file = URL(fileURLWithPath: folder.path + "/file")
        try await withWire { wire async throws in
            // Coded, it fits, and what it stands for does not.
            let large = isCoded ? CodedBodies.gzip([UInt8](repeating: 7, count: 8 << 20)) : [UInt8](bytes(8 << 20))
            wire.server.on("/large", isCoded ? .ok(.bytes(large)).header("Content-Encoding", "gzip") : .ok(.bytes(large)))
            wire.server.on("/small", .ok("new"))
            let error = try await wire.session.download(wire.url + "/large", to: file).options {
                $0.limits.decoding = .init(maxOutputBytes: 1 << 30)
            }.failure()
            expect(error, .diskFull, ENOSPC)
            #expect(folder.contents(of: "file") == Data("old".utf8))
            #expect(folder.names == ["file"])
            // There is room again.
            _ = try await wire.session.download(wire.url + "/small", to: file).response()
            #expect(folder.contents(of: "file") == Data("new".utf8))
        }
    }

    /// A limit on the size of files is met by the network thread, whom SIGXFSZ must not end the process for.
    @Test func theLimitOnFileSizes() async throws {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder()
            let server = LoopbackServer()
            server.on("/", .ok(.repeating(7, count: 1 << 20)))
            try await server.start()
            var configuration = Session.Configuration(agent: RequestAgent())
            configuration.proxy = .none
            let session = Session(configuration: configuration)
            var limit = rlimit(rlim_cur: 100_000, rlim_max: 100_000)
            setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            let outcome = await session.download(server.url + "/", to: URL(fileURLWithPath: folder.path + "/file")).outcome()
            guard case .failure(let error) = outcome, error.code == .fileUnwritable,
                error.underlying as? NetworkError.SystemError == NetworkError.SystemError(code: EFBIG)
            else { exit(2) }
            guard folder.names.isEmpty else { exit(3) }
        }
    }

    // MARK: Folders

    @Test func aFolderThatMayNotBeWritten() async throws {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder()
            let server = LoopbackServer()
            server.on("/", .ok("x"))
            try await server.start()
            chmod(folder.path, 0o555)
            // Root may write everywhere. Another user's number is enough: nothing has to be read from here on.
            if geteuid() == 0 { guard setuid(65_534) == 0 else { exit(5) } }
            var configuration = Session.Configuration(agent: RequestAgent())
            configuration.proxy = .none
            let session = Session(configuration: configuration)
            let outcome = await session.download(server.url + "/", to: URL(fileURLWithPath: folder.path + "/file")).outcome()
            guard case .failure(let error) = outcome, error.code == .fileUnwritable,
                error.underlying as? NetworkError.SystemError == NetworkError.SystemError(code: EACCES)
            else { exit(2) }
            guard error.message.contains(String(cString: strerror(EACCES))) else { exit(3) }
        }
    }

    @Test(arguments: ["a folder that goes away", "a folder in the file's place"])
    func theFolderChangesInTheMiddle(_ what: String) async throws {
        let folder = TemporaryFolder()
        let inner = folder.path + "/inner"
        try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: true)
        try await withWire { wire async throws in
            wire.server.on("/", .ok("0123456789").stalling(.afterBytes(4)))
            let (heads, seen) = AsyncStream.makeStream(of: Void.self)
            let request = wire.session.download(wire.url + "/", to: URL(fileURLWithPath: inner + "/file")).onDownloadProgress { _ in
                seen.yield()
            }
            request.start()
            for await _ in heads { break }
            try await wire.server.waitForStalls()
            if what == "a folder that goes away" {
                try FileManager.default.removeItem(atPath: inner)
            } else {
                try FileManager.default.createDirectory(atPath: inner + "/file/full", withIntermediateDirectories: true)
            }
            wire.server.releaseStalls()
            await wire.agent.waitUntilIdle()
            guard case .failure(let error) = request.result else { throw UnexpectedSuccess() }
            expect(error, .fileUnwritable, what == "a folder that goes away" ? ENOENT : EISDIR)
        }
        #expect(folder.names == (what == "a folder that goes away" ? [] : ["inner"]))
        if what != "a folder that goes away" { #expect(try FileManager.default.contentsOfDirectory(atPath: inner) == ["file"]) }
    }

    // MARK: The last steps

    /// close(2) reports what was written late (NFS, quotas), rename(2) what happened meanwhile: the file is not there then (defect 2).
    @Test(arguments: [EIO, EDQUOT, ENOSPC], ["write", "close", "rename"])
    func aStepThatFails(_ number: Int32, _ step: String) throws {
        let folder = TemporaryFolder()
        _ = folder.write("old", to: "file")
        var calls = FileCalls.system
        switch step {
        case "write":
            calls.write = { _, _, _ in
                errno = number; return -1
            }
        case "close":
            calls.close = { descriptor in
                Glibc.close(descriptor)
                errno = number
                return -1
            }
        default:
            calls.rename = { _, _ in
                errno = number; return -1
            }
        }
        let sink = FileSink(destination: folder.path + "/file", calls: calls)
        let error = #expect(throws: NetworkError.self) {
            try Array("new".utf8).withUnsafeBytes { try sink.write($0) }
            try sink.commit()
        }
        expect(try #require(error), number == EIO ? .fileUnwritable : .diskFull, number)
        sink.discard()
        #expect(folder.names == ["file"])
        #expect(folder.contents(of: "file") == Data("old".utf8))
    }

    /// The disk has hung behind the last byte, and the end of the run has been told by then.
    @Test(arguments: [true, false]) func aFileThatIsReadyWhenItsRunHasEndedReplacesNothing(isDiscarded: Bool) throws {
        let folder = TemporaryFolder()
        _ = folder.write("old", to: "file")
        let isWanted = Lock(true)
        let made = Lock<FileSink?>(nil)
        var calls = FileCalls.system
        calls.close = { descriptor in
            if isDiscarded { made.withLock { $0 }?.discard() } else { isWanted.withLock { $0 = false } }
            return Glibc.close(descriptor)
        }
        let sink = FileSink(destination: folder.path + "/file", calls: calls)
        made.withLock { $0 = sink }
        try Array("new".utf8).withUnsafeBytes { try sink.write($0) }
        let error = #expect(throws: NetworkError.self) { try sink.commit { isWanted.withLock { $0 } } }
        made.withLock { $0 = nil }
        #expect(error?.code == .cancelled)
        #expect(folder.contents(of: "file") == Data("old".utf8))
    }

    /// An empty file would take the place of the old one.
    @Test func whatIsDiscardedBeforeItsCommitReplacesNothing() throws {
        let folder = TemporaryFolder()
        _ = folder.write("old", to: "file")
        let sink = FileSink(destination: folder.path + "/file")
        try Array("new".utf8).withUnsafeBytes { try sink.write($0) }
        sink.discard()
        #expect(throws: NetworkError.self) { try sink.commit() }
        #expect(folder.contents(of: "file") == Data("old".utf8))
        #expect(folder.names == ["file"])
    }

    /// A signal in the middle of a write, and a write of a part, are no errors.
    @Test func writesThatComeShort() throws {
        let folder = TemporaryFolder()
        let turn = Lock(0)
        var calls = FileCalls.system
        calls.write = { descriptor, bytes, count in
            let number = turn.withLock { turn in
                turn += 1
                return turn
            }
            guard !number.isMultiple(of: 2) else { errno = EINTR; return -1 }
            return Glibc.write(descriptor, bytes, min(count, 7))
        }
        let sink = FileSink(destination: folder.path + "/file", calls: calls)
        try [UInt8](bytes(100)).withUnsafeBytes { try sink.write($0) }
        try sink.commit()
        #expect(folder.contents(of: "file") == bytes(100))
    }

    /// Nothing written and no reason given: an error, and not an endless loop.
    @Test func aWriteOfNothing() throws {
        let folder = TemporaryFolder()
        var calls = FileCalls.system
        calls.write = { _, _, _ in 0 }
        let sink = FileSink(destination: folder.path + "/file", calls: calls)
        let error = #expect(throws: NetworkError.self) { try Array("x".utf8).withUnsafeBytes { try sink.write($0) } }
        #expect(error?.code == .fileUnwritable)
        sink.discard()
        #expect(folder.names.isEmpty)
    }
}
