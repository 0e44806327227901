import Foundation
import Glibc
package import Testing

/// A file system of a test's own whose writes can be made to hang: ext4 in an image on a loop device, frozen as by fsfreeze(8).
///
/// While it is frozen, whatever would change it blocks without an end that a signal could bring: write(2), open(2) with `O_CREAT`,
/// rename(2), unlink(2), fsync(2), and the last close(2) of a file without a name. What only reads goes on.
package final class FreezableDisk: Sendable {
    /// The folder that the file system is mounted over.
    package let path: String
    private let image: String
    /// The folder of the mount: frozen and thawed through this, which needs no look-up of a name.
    private let descriptor: Int32
    private let watchdog = NSLock()
    // Safety: guarded by `watchdog`.
    nonisolated(unsafe) private var alarm: ProgramRun?

    /// Makes, mounts and opens the file system; blocks for some tens of milliseconds.
    package init(megabytes: Int = 64) throws {
        let name = "scopednet-disk-" + UUID().uuidString
        path = NSTemporaryDirectory() + name
        // In memory where that is possible: a freeze waits for the image to be on its disk.
        image = (access("/dev/shm", W_OK) == 0 ? "/dev/shm/" : NSTemporaryDirectory()) + name + ".img"
        guard mkdir(path, 0o755) == 0 else { throw CommandFailure(description: "mkdir: \(String(cString: strerror(errno)))") }
        do {
            try Self.run(["truncate", "-s", "\(megabytes)M", image])
            try Self.run(["mkfs.ext4", "-q", "-F", "-m", "0", image])
            try Self.run(["mount", "-o", "loop", image, path])
        } catch {
            unlink(image)
            rmdir(path)
            throw error
        }
        descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        rmdir(path + "/lost+found")
    }

    deinit {
        thaw()
        close(descriptor)
        // The loop device goes with the mount. A file that is still open keeps both, for as long as it is.
        if umount2(path, 0) != 0 { umount2(path, Int32(MNT_DETACH)) }
        rmdir(path)
        unlink(image)
    }

    /// Lets every write hang from here on until ``thaw()``. After `seconds` a process of its own thaws the file system, even where the test
    /// process was killed meanwhile.
    package func freeze(atMost seconds: Int = 30) throws {
        try watchdog.withLock {
            guard alarm == nil else { return }
            let script = """
                trap 'kill $sleep; exit 0' TERM; sleep \(seconds) & sleep=$!; wait $sleep; fsfreeze -u "$0"
                kill -0 \(getpid()) 2>/dev/null || { umount -l "$0"; rm -f "$1"; rmdir "$0"; }
                """
            alarm = try ProgramRun(["sh", "-c", script, path, image])
        }
        guard Glibc.ioctl(descriptor, Self.freezeRequest, 0) == 0 else {
            let code = errno
            thaw()
            throw CommandFailure(description: "FIFREEZE: \(String(cString: strerror(code)))")
        }
    }

    /// Lets what hangs go on. Idempotent.
    package func thaw() {
        _ = Glibc.ioctl(descriptor, Self.thawRequest, 0)
        let alarm = watchdog.withLock {
            defer { self.alarm = nil }
            return self.alarm
        }
        guard let alarm else { return }
        alarm.send(SIGTERM)
        _ = alarm.blockUntilResult()
    }

    /// Nil: there are such disks here. Else why there are none.
    package static let obstacle: Comment? = {
        guard geteuid() == 0 else { return "mounting takes root" }
        do {
            let disk = try FreezableDisk(megabytes: 8)
            try disk.freeze(atMost: 5)
            disk.thaw()
            return nil
        } catch { return "no file system that can be frozen: \(error)" }
    }()

    package static var isAvailable: Bool { obstacle == nil }

    // <linux/fs.h>: _IOWR('X', 119, int) and _IOWR('X', 120, int).
    private static let freezeRequest: UInt = 0xC004_5877
    private static let thawRequest: UInt = 0xC004_5878

    private static func run(_ arguments: [String]) throws {
        let result = try ProgramRun(arguments).blockUntilResult()
        guard result.status == 0 else { throw CommandFailure(description: "\(arguments[0]): \(result.status) \(result.errors)") }
    }
}
