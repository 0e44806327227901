import Glibc

/// Reads a netrc file; others must not be able to.
enum NetrcFile {
    /// As large as the file of a user may reasonably be.
    private static let mostBytes = 1 << 20

    /// `NETRC` of the environment, else `~/.netrc`.
    static func defaultPath() -> String? {
        if let path = getenv("NETRC").map({ String(cString: $0) }), !path.isEmpty { return path }
        guard let home = getenv("HOME").map({ String(cString: $0) }), !home.isEmpty else { return nil }
        return home + "/.netrc"
    }

    /// - Throws: `fileUnreadable` for a file that is not there, is no file, belongs to somebody else, may be read or written by others, or is
    ///   larger than 1 MiB; `invalidOption` where it is malformed.
    static func read(_ path: String?) throws(NetworkError) -> Netrc {
        guard let path = path ?? defaultPath() else { throw refused("there is no home folder to look for .netrc in") }
        guard !path.utf8.contains(0) else { throw .nulInPath(path, .fileUnreadable) }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .unreadable(path, "netrc file") }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .unreadable(path, "netrc file") }
        guard status.st_mode & S_IFMT == S_IFREG else { throw refused("the netrc file is no regular file") }
        guard status.st_uid == geteuid() || status.st_uid == 0 else { throw refused("the netrc file belongs to somebody else") }
        guard status.st_mode & 0o077 == 0 else { throw refused("others may read or write the netrc file; chmod 600 is what it needs") }
        guard status.st_size <= mostBytes else { throw refused("the netrc file is larger than 1 MiB") }
        return try Netrc(String(decoding: try bytes(descriptor, path), as: UTF8.self))
    }

    private static func bytes(_ descriptor: Int32, _ path: String) throws(NetworkError) -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 16 << 10)
        while bytes.count <= mostBytes {
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count == 0 { break }
            if count < 0 {
                if errno == EINTR { continue }
                throw .unreadable(path, "netrc file")
            }
            bytes += piece.prefix(count)
        }
        return bytes
    }

    private static func refused(_ message: String) -> NetworkError {
        NetworkError(.fileUnreadable, phase: .preparing, message: message)
    }
}
