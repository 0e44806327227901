import FoundationEssentials
import Glibc
import Persistence

extension PartRecord {
    /// Nil for anything but a file of this user's, which nobody else may write, with a record in it. Nothing is followed and nothing is waited for.
    init?(fileAt path: String) {
        let opened = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
        guard opened >= 0 else { return nil }
        defer { close(opened) }
        guard DownloadPart.isOurs(opened), (try? TrustedFolder.check(opened, path)) != nil else { return nil }
        var bytes = [UInt8](repeating: 0, count: Self.mostBytes + 1)
        var length = 0
        while length < bytes.count {
            let got = bytes.withUnsafeMutableBytes { all in
                let room = UnsafeMutableRawBufferPointer(rebasing: all[length...])
                return read(opened, room.baseAddress, room.count)
            }
            if got < 0, errno == EINTR { continue }
            guard got > 0 else { break }
            length += got
        }
        self.init(Data(bytes[..<length]))
    }

    /// Makes a file of it, which must not be there yet. It is complete or it is not there.
    ///
    /// - Returns: false where it cannot be written.
    func write(to path: String, synchronizes: Bool = false, _ calls: FileCalls) -> Bool {
        guard let data = encoded(), data.count <= Self.mostBytes else { return false }
        // The URL may hold a secret.
        let opened = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard opened >= 0 else { return false }
        let written = data.withUnsafeBytes { calls.write(opened, $0.baseAddress, $0.count) }
        let isOnDevice = !synchronizes || calls.synchronize(opened) == 0
        let isComplete = calls.close(opened) == 0 && written == data.count && isOnDevice
        if !isComplete { unlink(path) }
        return isComplete
    }

    /// Takes the place of the record that is there, in one step.
    ///
    /// - Parameters:
    ///   - path: the record's.
    ///   - draft: the name it has until then. One that is there is a killed process's.
    ///   - calls: the system's, or a test's.
    /// - Returns: false where it cannot be written; the other one is then as it was.
    func replace(fileAt path: String, draft: String, _ calls: FileCalls) -> Bool {
        unlink(draft)
        guard write(to: draft, synchronizes: true, calls) else { return false }
        if calls.rename(draft, path) == 0 { return true }
        unlink(draft)
        return false
    }
}
