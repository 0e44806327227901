import Glibc
import Persistence
import SystemSupport

/// The key that cookies, passwords and other sensitive values are hashed with before they are stored. It lives as long as the cache's folder,
/// in a file that only its owner can read; without a folder that can be trusted as long as the process.
///
/// Read when it is first needed, which for most programs is never.
final class CacheSecret: Sendable {
    private static let name = "secret"
    private let directory: String
    private let known = Lock<SipHash?>(nil)

    init(directory: String) { self.directory = directory }

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
        let folder = try? TrustedFolder.open(directory, creates: true)
        if let key = folder.flatMap(read) { return key }
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) }
        // Whoever is second reads what the first has written.
        if let folder, !write(bytes, in: folder), let key = read(folder) { return key }
        return SipHash(key: bytes) ?? SipHash(key0: generator.next(), key1: generator.next())
    }

    private func read(_ folder: TrustedFolder) -> SipHash? {
        guard let descriptor = try? folder.file(Self.name, O_RDONLY) else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 17)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        return count == 16 ? SipHash(key: bytes.prefix(16)) : nil
    }

    /// Complete under its name or not there at all.
    private func write(_ bytes: [UInt8], in folder: TrustedFolder) -> Bool {
        let temporary = "\(Self.name).\(UInt64.random(in: .min ... .max))"
        guard let descriptor = try? folder.create(temporary) else { return false }
        let isWritten = Glibc.write(descriptor, bytes, bytes.count) == bytes.count
        close(descriptor)
        defer { folder.remove(temporary) }
        return isWritten && (try? folder.link(temporary, to: folder, as: Self.name)) == true
    }
}
