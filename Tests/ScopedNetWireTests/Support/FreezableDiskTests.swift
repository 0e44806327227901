import CleanSlate
import Foundation
import Glibc
import TestProcesses
import Testing

/// The disk that other suites freeze: that its writes hang while it is frozen, and go on when it is thawed.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)), .enabled(if: FreezableDisk.isAvailable, FreezableDisk.obstacle))
struct FreezableDiskTests {
    private static func state(ofThread thread: String) -> Character? {
        let text = try? String(contentsOfFile: "/proc/\(thread)/stat", encoding: .utf8)
        return text?.split(separator: ")").last?.drop { $0 == " " }.first
    }

    @Test func writesHangUntilItIsThawed() async throws {
        let disk = try FreezableDisk()
        try Data("old".utf8).write(to: URL(fileURLWithPath: disk.path + "/old"))
        let descriptor = open(disk.path + "/file", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        try disk.freeze()
        let (writers, writer) = AsyncStream.makeStream(of: String.self)
        async let written = ProgramRun.onThread {
            writer.yield((try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")) ?? "")
            return write(descriptor, "x", 1)
        }
        for await thread in writers {
            while Self.state(ofThread: thread) != "D" { sched_yield() }
            break
        }
        // Readers and other file systems go on.
        #expect(try String(contentsOfFile: disk.path + "/old", encoding: .utf8) == "old")
        disk.thaw()
        #expect(await written == 1)
        #expect(lseek(descriptor, 0, SEEK_END) == 1)
        close(descriptor)
    }

    @Test func aForgottenFreezeEndsByItself() async throws {
        let disk = try FreezableDisk()
        try disk.freeze(atMost: 1)
        let made = await ProgramRun.onThread { [path = disk.path] in open(path + "/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600) }
        #expect(made >= 0)
        close(made)
    }

    @Test func itLeavesNeitherMountNorImage() throws {
        var disk: FreezableDisk? = try FreezableDisk()
        let path = try #require(disk?.path)
        try disk?.freeze()
        disk = nil
        #expect(!FileManager.default.fileExists(atPath: path))
        let image = URL(fileURLWithPath: path).lastPathComponent + ".img"
        #expect(!FileManager.default.fileExists(atPath: path + ".img") && !FileManager.default.fileExists(atPath: "/dev/shm/" + image))
        #expect(try !String(contentsOfFile: "/proc/self/mounts", encoding: .utf8).contains(path))
    }
}
