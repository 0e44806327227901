import CleanSlate
import Foundation
import Glibc
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// After a loss of power the file of a part may be longer than what had come to the device: only
/// what is known to be there is gone on with (YTK-12).
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1))) struct ResumePowerLossTests {
    private static let recordName = "file.scopednet-resume"
    private static let draftName = "file.scopednet-draft"

    /// What the machine finds when it is on again: a record that was written before, and a part
    /// whose last bytes never came to the device.
    private func losePower(_ wire: ResumeWire, synchronized: Int64?, intact: Int) throws {
        var record = try #require(PartRecord(fileAt: wire.folder.path + "/" + Self.recordName))
        record.boot = "another start of the machine"
        record.synchronized = synchronized
        _ = try wire.folder.write(#require(record.encoded()), to: Self.recordName)
        let part = try #require(wire.part)
        _ = wire.folder.write(part.prefix(intact) + Data(count: part.count - intact), to: "file.scopednet-part")
    }

    @Test func whatDidNotComeToTheDeviceIsAskedForAgain() async throws {
        let body = bytes(1000)
        try await withResumeWire { wire async throws in
            try await wire.breakOff(after: 700, of: tagged(body))
            try losePower(wire, synchronized: 400, intact: 400)
            #expect(PartialDownload.of(wire.file)?.bytes == 400)
            wire.server.on("/", tagged(body))
            let response = try await wire.download().response()
            #expect(wire.latest("Range") == "bytes=400-")
            #expect(response.resumedBytes == 400)
            #expect(wire.content == body)
            #expect(wire.folder.names == ["file"])
        }
    }

    @Test(arguments: [nil, 0] as [Int64?]) func whereNothingIsKnownTheFileIsAskedForAnew(synchronized: Int64?) async throws {
        let body = bytes(1000)
        try await withResumeWire { wire async throws in
            try await wire.breakOff(after: 700, of: tagged(body))
            try losePower(wire, synchronized: synchronized, intact: 0)
            #expect(PartialDownload.of(wire.file) == nil)
            wire.server.on("/", tagged(body))
            _ = try await wire.download().value()
            #expect(wire.latest("Range") == nil)
            #expect(wire.content == body)
        }
    }

    /// A machine that is shut down in order loses nothing.
    @Test func aDownloadThatEndsBringsWhatCameToTheDevice() async throws {
        let body = bytes(1000)
        try await withResumeWire { wire async throws in
            try await wire.breakOff(after: 700, of: tagged(body))
            let record = try #require(PartRecord(fileAt: wire.folder.path + "/" + Self.recordName))
            #expect(record.synchronized == 700)
            #expect(record.boot == MachineBoot.identifier && record.boot != nil)
            try losePower(wire, synchronized: record.synchronized, intact: 700)
            wire.server.on("/", tagged(body))
            _ = try await wire.download().value()
            #expect(wire.latest("Range") == "bytes=700-")
            #expect(wire.content == body)
        }
    }

    // MARK: The part

    private func makePart(
        _ folder: TemporaryFolder, boot: String? = "now", _ change: (inout FileCalls) -> Void = { _ in }
    ) throws -> DownloadPart {
        var calls = FileCalls.system
        change(&calls)
        let part = try DownloadPart(#require(PartNames(target: folder.path + "/file")), calls: calls, boot: boot, interval: 100)
        try part.open()
        return part
    }

    private func write(_ count: Int, to part: DownloadPart) throws {
        try [UInt8](repeating: 7, count: count).withUnsafeBytes { try part.write($0) }
    }

    private func record(in folder: TemporaryFolder) -> PartRecord? { PartRecord(fileAt: folder.path + "/" + Self.recordName) }

    @Test func theRecordSpeaksAfterTheDeviceDid() throws {
        let folder = TemporaryFolder()
        let seen = Gathered<Int64>()
        let path = folder.path + "/" + Self.recordName
        let part = try makePart(folder) { calls in
            calls.synchronize = { descriptor in
                seen.add(PartRecord(fileAt: path)?.synchronized ?? 0)
                return fdatasync(descriptor)
            }
        }
        try part.restart(PartRecord.sample())
        try write(60, to: part)
        #expect(record(in: folder)?.synchronized == nil && seen.all.isEmpty)
        try write(60, to: part)
        // Part and draft, and until both are there the old record.
        #expect(record(in: folder)?.synchronized == 120 && seen.all == [0, 0])
        try write(30, to: part)
        #expect(record(in: folder)?.synchronized == 120)
        #expect(part.close() == 150)
        #expect(record(in: folder)?.synchronized == 150 && seen.all == [0, 0, 120, 120])
        #expect(folder.names == ["file.scopednet-part", Self.recordName])
    }

    @Test func aDeviceThatFailsIsNotBelieved() throws {
        let folder = TemporaryFolder()
        let part = try makePart(folder) { calls in
            calls.synchronize = { _ in
                errno = EIO
                return -1
            }
        }
        try part.restart(PartRecord.sample())
        try write(150, to: part)
        #expect(part.close() == 150)
        let kept = try #require(record(in: folder))
        #expect(kept.synchronized == nil && kept.knownBytes(size: 150, boot: "later") == 0)
    }

    /// A process that was killed between two system calls.
    @Test func aDraftThatWasLeftIsReplaced() throws {
        let folder = TemporaryFolder()
        _ = folder.write("half a rec", to: Self.draftName)
        let part = try makePart(folder)
        try part.restart(PartRecord.sample())
        #expect(!folder.names.contains(Self.draftName))
        _ = folder.write("half a rec", to: Self.draftName)
        try write(150, to: part)
        #expect(record(in: folder)?.synchronized == 150 && !folder.names.contains(Self.draftName))
        _ = folder.write("half a rec", to: Self.draftName)
        part.close()
        #expect(try PartialDownload.removeAll(in: URL(filePath: folder.path)) == 1)
        #expect(folder.names.isEmpty)
    }

    @Test func goingOnAfterARestartCutsTheRestOff() throws {
        let folder = TemporaryFolder()
        let first = try makePart(folder, boot: "before")
        try first.restart(PartRecord.sample())
        try write(150, to: first)
        first.close()
        _ = folder.write(Data(repeating: 7, count: 150) + Data(count: 50), to: "file.scopednet-part")
        let second = try makePart(folder, boot: "after")
        let asked = try #require(second.request(for: PartRecord.sample()))
        #expect(asked.offset == 150)
        #expect(try second.append(to: asked, end: 1000, total: 1000))
        #expect(folder.contents(of: "file.scopednet-part")?.count == 150)
        #expect(record(in: folder)?.boot == "after" && record(in: folder)?.synchronized == 150)
        // From here on the file says again how much there is.
        try write(20, to: second)
        #expect(record(in: folder)?.knownBytes(size: 170, boot: "after") == 170)
        #expect(second.close() == 170)
    }
}
