import CleanSlate
import Foundation
import Glibc
import Testing

@testable import Reachability

@Suite(.leavesNothing) struct ResolverFileTests {
    /// A folder with a link `resolv.conf` and its target, and the watch of them.
    private func withFile(_ body: (inout ResolverFile, _ target: URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "resolver-\(UUID())")
        let etc = folder.appending(path: "etc")
        try FileManager.default.createDirectory(at: etc, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let target = folder.appending(path: "stub.conf")
        try write("nameserver 192.0.2.1\n", to: target)
        try FileManager.default.createSymbolicLink(atPath: etc.path + "/resolv.conf", withDestinationPath: target.path)
        var file = ResolverFile(path: etc.path + "/resolv.conf")
        try body(&file, target)
    }

    /// Returns when nobody has the file open any more: a child that another test has just forked does until it executes its program, and the
    /// kernel tells of a written file when the last one closes it. A lease to read (fcntl(2)) is given then, and not before.
    private func write(_ text: String, to file: URL, options: Data.WritingOptions = []) throws {
        try Data(text.utf8).write(to: file, options: options)
        let descriptor = open(file.path, O_RDONLY | O_CLOEXEC)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let setLease: Int32 = 1024
        while fcntl(descriptor, setLease, F_RDLCK) != 0 {
            try #require(errno == EAGAIN)
            usleep(1_000)
        }
        _ = fcntl(descriptor, setLease, F_UNLCK)
    }

    private func clear(_ file: inout ResolverFile) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 8 << 10, alignment: 16) { file.clear($0) }
    }

    /// The watches are made anew then, and the end of the old ones is an event, too.
    @Test func aReplacedFileIsSeenOnce() throws {
        try withFile { file, target in
            for number in 2...4 {
                try write("nameserver 192.0.2.\(number)\n", to: target, options: .atomic)
                let changed = clear(&file)
                #expect(changed && file.nameServers() == [IPAddress(192, 0, 2, UInt8(number))])
                for _ in 0..<3 {
                    let again = clear(&file)
                    #expect(!again)
                }
            }
        }
    }

    @Test func otherFilesOfTheFolderAreNobodysBusiness() throws {
        try withFile { file, target in
            try Data("x".utf8).write(to: target.deletingLastPathComponent().appending(path: "other.conf"))
            let changed = clear(&file)
            #expect(!changed)
        }
    }

    /// A line that is cut in two at the end of what is read would name another server.
    @Test func whatDoesNotFitIsLeftOutByTheLine() throws {
        try withFile { file, target in
            let filler = String(repeating: "#", count: (64 << 10) - "nameserver 192.0.2.1".utf8.count - 1) + "\n"
            try Data((filler + "nameserver 192.0.2.17\n").utf8).write(to: target)
            #expect(file.nameServers().isEmpty)
        }
    }
}
