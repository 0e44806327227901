/// Sizes, times and kinds of content as a person reads them. (pure)
enum HumanText {
    /// `0 B`, `41 B`, `1.6 KiB`, `12 MiB`.
    static func bytes(_ count: Int64) -> String {
        let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
        guard count >= 1024 else { return "\(max(0, count)) B" }
        var (value, unit) = (Double(count) / 1024, 0)
        // 1,023.96 would be written as 1024.
        while value >= 1023.5, unit < units.count - 1 { (value, unit) = (value / 1024, unit + 1) }
        return "\(shortened(value)) \(units[unit])"
    }

    /// `850 µs`, `12 ms`, `2.3 s`, `3 min 05 s`.
    static func time(_ duration: Duration) -> String {
        let microseconds = max(0, duration / .microseconds(1))
        if microseconds < 1000 { return "\(Int(microseconds)) µs" }
        if microseconds < 999_500 { return "\(shortened(microseconds / 1000)) ms" }
        let seconds = microseconds / 1_000_000
        if seconds < 59.95 { return "\(shortened(seconds)) s" }
        let whole = Int64(min(seconds.rounded(), 1e15))
        return "\(whole / 60) min \(whole % 60 < 10 ? "0" : "")\(whole % 60) s"
    }

    /// `JSON`, `HTML`, `text`, `image/png`.
    static func kind(of type: MediaType) -> String {
        let essence = type.essence
        if essence == "application/json" || essence.hasSuffix("+json") { return "JSON" }
        if essence == "text/html" { return "HTML" }
        if essence.hasSuffix("/xml") || essence.hasSuffix("+xml") { return "XML" }
        return essence == "text/plain" ? "text" : essence
    }

    /// Two digits where there are not more before the point.
    private static func shortened(_ value: Double) -> String {
        guard value < 9.95 else { return "\(Int(value.rounded()))" }
        let tenths = Int((value * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }
}
