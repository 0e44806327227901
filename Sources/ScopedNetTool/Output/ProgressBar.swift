import ScopedNet

/// How a transfer's progress reads on one line (pure).
///
/// `[=========>          ]  45%  4.5 MiB of 10.0 MiB  1.2 MiB/s  0:04 left`
struct ProgressBar: Sendable {
    /// Between two drawings, for the eye.
    static let interval: Duration = .milliseconds(100)

    /// Writes the line.
    ///
    /// - Parameters:
    ///   - progress: the bytes so far.
    ///   - elapsed: since the request began.
    ///   - width: columns of the terminal. The line is one shorter at most: some terminals wrap when the last column is written.
    /// - Returns: one line without an end.
    static func line(_ progress: TransferProgress, elapsed: Duration, width: Int) -> String {
        let seconds = max(elapsed / .seconds(1), 0.001)
        let rate = Double(progress.completed) / seconds
        var words: [String] = []
        if let total = progress.total, let fraction = progress.fraction {
            words.append(padded("\(Int(fraction * 100))%", 4))
            words.append("\(bytes(progress.completed)) of \(bytes(total))")
        } else {
            words.append(bytes(progress.completed))
        }
        words.append("\(bytes(Int64(rate)))/s")
        if let total = progress.total, rate >= 1, progress.completed < total {
            words.append("\(clock(Double(total - progress.completed) / rate)) left")
        } else {
            words.append(clock(seconds))
        }
        let text = words.joined(separator: "  ")
        let room = width - 1 - text.count - 4
        guard room >= 10, let fraction = progress.fraction else { return String(text.prefix(max(0, width - 1))) }
        return "[\(bar(fraction, min(room, 40)))]  \(text)"
    }

    private static func bar(_ fraction: Double, _ width: Int) -> String {
        let filled = Int(fraction * Double(width))
        let head = filled < width ? ">" : ""
        return String(repeating: "=", count: filled) + head + String(repeating: " ", count: max(0, width - filled - head.count))
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }

    /// `999 B`, `1.0 KiB`, `10.5 MiB`: powers of 1,024 (IEC 80000-13).
    static func bytes(_ count: Int64) -> String {
        guard count >= 1_024 else { return "\(max(0, count)) B" }
        var value = Double(count)
        var unit = -1
        let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
        while value >= 1_023.95, unit < units.count - 1 {
            value /= 1_024
            unit += 1
        }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }

    /// `0:07`, `12:34`, `1:02:03`.
    static func clock(_ seconds: Double) -> String {
        let whole = Int(min(max(0, seconds), 359_999))
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let (hours, minutes) = (whole / 3_600, whole / 60 % 60)
        return hours > 0 ? "\(hours):\(two(minutes)):\(two(whole % 60))" : "\(minutes):\(two(whole % 60))"
    }
}
