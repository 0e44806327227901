import CleanSlate
import Foundation
import Glibc
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// A disk that is full, or fails: a typed error, the old file as it was, and nothing lost of what had come (YTK-12, SES-9).
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1))) struct ResumeFaultTests {
    @Test(.enabled(if: SmallDisk.isAllowed, "mounting a small tmpfs is refused")) func aFullDiskLosesNothing() async throws {
        try await withResumeWire { wire async throws in
            try #require(SmallDisk.mount(over: wire.folder) == 0)
            defer { umount2(wire.folder.path, Int32(MNT_DETACH)) }
            _ = wire.folder.write("old", to: "file")
            let body = bytes(1_200_000)
            wire.server.on("/", tagged(body))
            let error = try await wire.download().failure()
            let kept = try #require(error.resumableBytes)
            #expect(error.code == .diskFull && (error.underlying as? NetworkError.SystemError)?.code == ENOSPC, "\(error)")
            #expect(kept > 500_000 && wire.part == body.prefix(Int(kept)))
            #expect(wire.content == Data("old".utf8))
            // Not a byte more fits, and nothing changes.
            let second = try await wire.download().failure()
            #expect(second.code == .diskFull && (second.resumableBytes ?? 0) >= kept)
            // There is room again.
            try #require(mount("tmpfs", wire.folder.path, "tmpfs", UInt(MS_REMOUNT), "size=4m") == 0)
            let response = try await wire.download().response()
            #expect(response.resumedBytes >= kept)
            #expect(wire.content.isSame(as: body) && wire.folder.names == ["file"])
        }
    }

    // MARK: Call by call

    private func makePart(_ folder: TemporaryFolder, _ change: (inout FileCalls) -> Void) throws -> DownloadPart {
        var calls = FileCalls.system
        change(&calls)
        let part = try DownloadPart(#require(PartNames(target: folder.path + "/file")), calls: calls)
        try part.open()
        return part
    }

    private func write(_ text: String, to part: DownloadPart) throws {
        try Array(text.utf8).withUnsafeBytes { try part.write($0) }
    }

    private func record(_ total: Int64) -> PartRecord { PartRecord.sample(total: total) }

    @Test(arguments: [ENOSPC, EDQUOT, EIO]) func aWriteThatFails(_ number: Int32) throws {
        let folder = TemporaryFolder()
        _ = folder.write("old", to: "file")
        let fails = Counter()
        let part = try makePart(folder) { calls in
            calls.write = { descriptor, bytes, count in
                guard fails.value > 0 else { return Glibc.write(descriptor, bytes, count) }
                errno = number
                return -1
            }
        }
        try part.restart(record(10))
        try write("01234", to: part)
        fails.add()
        let error = #expect(throws: NetworkError.self) { try write("56789", to: part) }
        #expect(error?.code == (number == EIO ? .fileUnwritable : .diskFull))
        #expect(part.close() == 5)
        #expect(folder.contents(of: "file.scopednet-part") == Data("01234".utf8))
        #expect(folder.contents(of: "file") == Data("old".utf8))
    }

    /// Late errors (NFS, quotas): what the disk holds is anybody's guess, and does not count.
    @Test(arguments: [ENOSPC, EIO]) func aCloseThatFails(_ number: Int32) throws {
        let folder = TemporaryFolder()
        let fails = Counter()
        let part = try makePart(folder) { calls in
            calls.close = { descriptor in
                Glibc.close(descriptor)
                guard fails.value > 0 else { return 0 }
                errno = number
                return -1
            }
        }
        try part.restart(record(5))
        try write("01234", to: part)
        fails.add()
        let error = #expect(throws: NetworkError.self) { try part.commit(synchronizes: false) }
        #expect(error?.code == (number == EIO ? .fileUnwritable : .diskFull))
        #expect(part.close() == nil)
        #expect(folder.names == [])
    }

    @Test func aRenameThatFailsLosesNothing() throws {
        let folder = TemporaryFolder()
        let part = try makePart(folder) { calls in
            calls.rename = { _, _ in
                errno = EIO
                return -1
            }
        }
        try part.restart(record(5))
        try write("01234", to: part)
        let error = #expect(throws: NetworkError.self) { try part.commit(synchronizes: true) }
        #expect(error?.code == .fileUnwritable)
        #expect(part.close() == 5)
        #expect(folder.names == ["file.scopednet-part", "file.scopednet-resume"])
    }

    @Test func aPartWhoseRunHasEndedStaysAPart() throws {
        let folder = TemporaryFolder()
        let part = try makePart(folder) { _ in }
        try part.restart(record(5))
        try write("01234", to: part)
        let error = #expect(throws: NetworkError.self) { try part.commit(synchronizes: false) { false } }
        #expect(error?.code == .cancelled)
        #expect(part.close() == 5)
        #expect(folder.names == ["file.scopednet-part", "file.scopednet-resume"])
    }

    /// What the request was made of must still be there when the answer comes: a shorter part would get a hole.
    @Test func aPartThatIsAnotherByNow() throws {
        let folder = TemporaryFolder()
        let part = try makePart(folder) { _ in }
        try part.restart(record(10))
        try write("01234", to: part)
        let asked = try #require(PartRequest(record(10), size: 5))
        let fits = try part.append(to: asked, end: 10, total: 10)
        #expect(fits && part.count == 5)
        part.drop()
        let isGone = try part.append(to: asked, end: 10, total: 10)
        #expect(!isGone && part.count == 0)
        try part.restart(record(10))
        try write("01", to: part)
        let isShorter = try part.append(to: asked, end: 10, total: 10)
        #expect(!isShorter && part.count == 2)
        try part.restart(record(11))
        try write("0123456789A", to: part)
        let isAnother = try part.append(to: asked, end: 10, total: 10)
        let isComplete = try part.complete(asked)
        #expect(!isAnother && !isComplete && part.count == 11)
        #expect(part.close() == 11)
        #expect(folder.contents(of: "file.scopednet-part") == Data("0123456789A".utf8))
    }

    /// A folder was removed and made anew, and another download has begun there.
    @Test func filesOfAnotherDownloadAreLeftAlone() throws {
        let folder = TemporaryFolder()
        for isDropped in [false, true] {
            for name in folder.names { unlink(folder.path + "/" + name) }
            let part = try makePart(folder) { _ in }
            try part.restart(record(10))
            try write("01234", to: part)
            for name in folder.names {
                unlink(folder.path + "/" + name)
                _ = folder.write("another's", to: name)
            }
            if isDropped { part.drop() }
            part.close()
            #expect(folder.names == ["file.scopednet-part", "file.scopednet-resume"])
            #expect(folder.names.allSatisfy { folder.contents(of: $0) == Data("another's".utf8) })
        }
    }

    /// No record, no going on; the download itself goes on.
    @Test func aRecordThatCannotBeWritten() throws {
        let folder = TemporaryFolder()
        let records = Counter()
        let part = try makePart(folder) { calls in
            calls.write = { descriptor, bytes, count in
                records.add()
                // The record is the first thing that is written, and half of it comes to the disk.
                return Glibc.write(descriptor, bytes, records.value == 1 ? count / 2 : count)
            }
        }
        try part.restart(record(5))
        #expect(part.record == nil && folder.names == ["file.scopednet-part"])
        try write("01234", to: part)
        #expect(part.close() == nil)
        #expect(folder.names == [])
    }

    @Test func writesThatComeShort() throws {
        let folder = TemporaryFolder()
        let turn = Counter()
        let part = try makePart(folder) { calls in
            calls.write = { descriptor, bytes, count in
                turn.add()
                guard turn.value > 1 else { return Glibc.write(descriptor, bytes, count) }
                guard !turn.value.isMultiple(of: 2) else { errno = EINTR; return -1 }
                return Glibc.write(descriptor, bytes, min(count, 2))
            }
        }
        try part.restart(record(10))
        try write("0123456789", to: part)
        try part.commit(synchronizes: true)
        #expect(folder.contents(of: "file") == Data("0123456789".utf8) && folder.names == ["file"])
    }

    @Test func theFileIsNotReplacedByLessThanAllOfIt() throws {
        let folder = TemporaryFolder()
        let part = try makePart(folder) { _ in }
        try part.restart(record(10))
        try write("01234", to: part)
        let error = #expect(throws: NetworkError.self) { try part.commit(synchronizes: false) }
        #expect(error?.code == .truncatedBody)
        #expect(part.close() == 5)
    }

    // MARK: Whole downloads

    @Test func onTheDeviceBeforeItSucceeds() async throws {
        let body = bytes(1000)
        try await withResumeWire {
            $0.options.downloads.synchronizes = true
        } _: { wire async throws in
            wire.server.on("/", tagged(body))
            for resumes in [false, true] {
                _ = try await wire.download { $0.downloads.resumes = resumes }.value()
                #expect(wire.content == body && wire.folder.names == ["file"])
            }
        }
    }

    @Test func aFolderThatIsNotThere() async throws {
        try await withResumeWire { wire async throws in
            wire.server.on("/", .ok("x"))
            let file = URL(fileURLWithPath: wire.folder.path + "/no/file")
            let error = try await wire.wire.session.download(wire.wire.url + "/", to: file).failure()
            #expect(error.code == .fileUnwritable && (error.underlying as? NetworkError.SystemError)?.code == ENOENT)
        }
    }
}
