import SystemSupport

/// The time since the machine was last started.
enum MachineBoot {
    /// What tells it from all others (random(4), `boot_id`); nil where that cannot be known. The
    /// same in all processes and containers of the machine.
    static let identifier: String? = {
        let text = (SmallFile.text(at: "/proc/sys/kernel/random/boot_id", limit: 64) ?? "").prefix { $0 > " " }
        return text.isEmpty ? nil : String(text)
    }()
}
