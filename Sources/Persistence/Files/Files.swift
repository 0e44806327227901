import CStore
import Glibc

/// The system calls on files, with typed errors, and tried again after a signal.
enum Files {
    /// Neither a link is followed nor a pipe waited for.
    static func openForReading(_ path: String) throws(StoreError) -> Int32 {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw StoreError(call: "open", path: path, errno: errno) }
        return descriptor
    }

    static func writeAll(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, path: String) throws(StoreError) {
        var rest = bytes
        while !rest.isEmpty {
            let count = write(descriptor, rest.baseAddress, rest.count)
            if count < 0 {
                if errno == EINTR { continue }
                throw StoreError(call: "write", path: path, errno: errno)
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    /// Fills the buffer from this place of the file.
    /// - Throws: `damaged` where the file ends before.
    static func readAll(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(StoreError) {
        var done = 0
        while done < buffer.count {
            let count = pread(descriptor, buffer.baseAddress?.advanced(by: done), buffer.count - done, off_t(offset + done))
            if count < 0 {
                if errno == EINTR { continue }
                throw StoreError(call: "pread", path: "", errno: errno)
            }
            guard count > 0 else { throw StoreError(.damaged, "a body file is shorter than it was") }
            done += count
        }
    }

    /// The size in bytes and the time of the last change, in seconds since 1970; nil where there is no file.
    static func status(of path: String) -> (size: Int, modified: Int)? {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        return (Int(status.st_size), Int(status.st_mtim.tv_sec))
    }

    static func size(of descriptor: Int32) -> Int? {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        return Int(status.st_size)
    }

    /// The names in a folder; none where it cannot be read.
    static func names(in path: String) -> [String] {
        let opened = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        return opened < 0 ? [] : names(reading: opened)
    }

    /// The same of a folder that is open; takes over the descriptor.
    static func names(reading opened: Int32) -> [String] {
        guard let folder = fdopendir(opened) else {
            close(opened)
            return []
        }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names
    }

    /// What the file system has left for this user, in bytes.
    static func freeBytes(at path: String) -> Int? {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return nil }
        return Int(clamping: UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue)
    }

    /// 128 bits nobody guesses, in hexadecimal.
    static func randomName() -> String {
        var generator = SystemRandomNumberGenerator()
        return [generator.next(), generator.next()].map { word in
            let digits = String(word as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}

extension Files {
    /// What tells a file from another one that has its name later; nil where there is none.
    static func inode(of path: String) -> UInt64? {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        return UInt64(status.st_ino)
    }

    /// The path without links; nil where nothing is.
    static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// The permissions.
    static func mode(of path: String) -> UInt32? {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        return UInt32(status.st_mode) & 0o7777
    }
}
