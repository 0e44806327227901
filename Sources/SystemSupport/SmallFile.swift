import Glibc

/// Files that are read as a whole, such as those of /proc and /sys.
package enum SmallFile {
    /// The text of a file. Nil, with `errno`, where it cannot be read; what is beyond the limit is left out.
    package static func text(at path: String, limit: Int) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer {
            let code = errno
            close(descriptor)
            errno = code
        }
        var bytes = [UInt8](repeating: 0, count: min(limit, 4096))
        var count = 0
        while true {
            let got = bytes.withUnsafeMutableBytes { read(descriptor, $0.baseAddress?.advanced(by: count), $0.count - count) }
            if got < 0 && errno == EINTR { continue }
            // A part would pass for the whole.
            if got < 0 { return nil }
            guard got > 0 else { break }
            count += got
            guard count == bytes.count else { continue }
            guard count < limit else { break }
            // Files of /proc do not say how long they are.
            bytes += [UInt8](repeating: 0, count: min(limit - count, count))
        }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}
