import Glibc

/// The key that cookies, passwords and other sensitive values are hashed with before they are stored. It lives as long as the cache's folder,
/// in a file that only its owner can read; without a folder as long as the process.
///
/// Read when it is first needed, which for most programs is never.
final class CacheSecret: Sendable {
    private let path: String
    private let directory: String
    private let known = Lock<SipHash?>(nil)

    init(directory: String) {
        self.directory = directory
        path = directory + "/secret"
    }

    var hash: SecretHash {
        { [self] bytes in key.text(bytes) }
    }

    /// Whether a hash needs no file any more.
    var isKnown: Bool { known.withLock { $0 != nil } }

    private var key: SipHash {
        if let key = known.withLock({ $0 }) { return key }
        let read = readOrMake()
        return known.withLock { known in
            if let known { return known }
            known = read
            return read
        }
    }

    private func readOrMake() -> SipHash {
        if let key = read() { return key }
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) }
        // Whoever is second reads what the first has written.
        if !write(bytes), let key = read() { return key }
        return SipHash(key: bytes) ?? SipHash(key0: generator.next(), key1: generator.next())
    }

    private func read() -> SipHash? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 17)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        return count == 16 ? SipHash(key: bytes.prefix(16)) : nil
    }

    /// The folder and those above it, which a fresh account may not have yet.
    private func makeFolders() {
        guard mkdir(directory, 0o700) != 0, errno == ENOENT else { return }
        var end = directory.utf8.startIndex
        while let slash = directory.utf8[end...].dropFirst().firstIndex(of: UInt8(ascii: "/")) {
            mkdir(String(directory[..<slash]), 0o700)
            end = slash
        }
        mkdir(directory, 0o700)
    }

    /// Complete under its name or not there at all.
    private func write(_ bytes: [UInt8]) -> Bool {
        makeFolders()
        let temporary = "\(path).\(getpid()).\(Identifier.next())"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return false }
        let isWritten = Glibc.write(descriptor, bytes, bytes.count) == bytes.count
        close(descriptor)
        defer { unlink(temporary) }
        return isWritten && link(temporary, path) == 0
    }
}
