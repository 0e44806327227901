import Glibc

/// A clock moved by hand that two processes see: a number in a file.
package struct SharedClock: Sendable {
    private let path: String

    package init(_ path: String) { self.path = path }

    /// Seconds since 1970; zero when there is no file.
    package var now: Double {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return 0 }
        defer { close(descriptor) }
        var bits: UInt64 = 0
        return read(descriptor, &bits, 8) == 8 ? Double(bitPattern: bits) : 0
    }

    package func set(_ now: Double) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var bits = now.bitPattern
        // In place, so that a reader sees the old or the new one.
        _ = pwrite(descriptor, &bits, 8, 0)
    }
}
