import Glibc

/// A small file system in memory (tmpfs), over a folder of its own. It goes with the mount namespace of the process.
struct MemoryDisk {
    let path: String
    private var ballast: String { path + "/ballast" }

    init(over path: String, bytes: Int) throws {
        self.path = path
        guard mkdir(path, 0o700) == 0, mount("tmpfs", path, "tmpfs", 0, "size=\(bytes)") == 0 else { throw Trouble("mount \(path)") }
    }

    /// Writes until there is no room.
    func fill() {
        let descriptor = open(ballast, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        let zeros = [UInt8](repeating: 0, count: 4096)
        for size in [zeros.count, 1] { while write(descriptor, zeros, size) > 0 {} }
        close(descriptor)
    }

    func makeRoom() { unlink(ballast) }

    /// False while somebody has a file open to write to it.
    func setReadOnly(_ isReadOnly: Bool) -> Bool {
        mount("tmpfs", path, "tmpfs", UInt(MS_REMOUNT) | (isReadOnly ? UInt(MS_RDONLY) : 0), nil) == 0
    }
}

/// A call that failed while a scenario was prepared: nothing of the library's.
struct Trouble: Error, CustomStringConvertible {
    let description: String

    init(_ call: String, _ code: Int32 = errno) { description = "\(call): \(String(cString: strerror(code)))" }
}
