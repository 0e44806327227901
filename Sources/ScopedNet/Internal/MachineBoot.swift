import Glibc

/// The time since the machine was last started.
enum MachineBoot {
    /// What tells it from all others (random(4), `boot_id`); nil where that cannot be known. The
    /// same in all processes and containers of the machine.
    static let identifier: String? = {
        let opened = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard opened >= 0 else { return nil }
        defer { close(opened) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(opened, &bytes, bytes.count)
        let text = String(decoding: bytes.prefix(max(0, count)).prefix { $0 > 0x20 }, as: UTF8.self)
        return text.isEmpty ? nil : text
    }()
}
