#if TestServer
internal import Glibc
internal import NIOCore

/// An open file. Reads block, which a loopback server of tests can afford: the pages are in memory.
final class FileReader: Sendable {
    private let descriptor: CInt
    let count: Int
    let entityTag: String
    let lastModified: String

    init?(path: String) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        self.count = Int(status.st_size)
        let time = status.st_mtim
        self.entityTag = "\"\(String(status.st_size, radix: 16))-\(String(time.tv_sec, radix: 16))-\(time.tv_nsec)\""
        self.lastModified = httpDate(time.tv_sec)
    }

    deinit {
        close(descriptor)
    }

    /// Reads up to `count` bytes; nothing at the end of the file, also when the file was cut in the meantime.
    func read(at offset: Int, count: Int) -> ByteBuffer {
        var buffer = ByteBuffer()
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { target in
            max(0, pread(descriptor, target.baseAddress, count, offset))
        }
        return buffer
    }
}

/// The date format of HTTP (RFC 9110, section 5.6.7), whatever the locale.
func httpDate(_ seconds: Int) -> String {
    var time = time_t(seconds)
    var parts = tm()
    gmtime_r(&time, &parts)
    let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    func two(_ number: CInt) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(1900 + parts.tm_year) "
        + "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
}
#endif
