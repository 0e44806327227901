import ScopedNet

/// How stored responses read as lines of a table, and one of them as a page (pure).
enum CacheTable {
    static let head = "STATUS  TYPE                             SIZE  STORED    STATE         URL"

    static func line(_ report: CacheReport) -> String {
        let size = (report.isPart ? "part " : "") + ProgressBar.bytes(Int64(report.bytes))
        let columns = [
            left("\(report.status)", 6), left(short(report.type ?? "-", 20), 20), right(size, 15),
            left("\(span(report.sinceStored)) ago", 8), left(state(report), 12), url(report),
        ]
        return columns.joined(separator: "  ")
    }

    /// Everything about one.
    static func page(_ report: CacheReport) -> String {
        var lines = ["\(url(report))"]
        func add(_ name: String, _ value: String) { lines.append("  \(left(name, 10))  \(value)") }
        add("state", state(report) + (report.hasValidators ? ", can be validated" : ", cannot be validated"))
        add("age", "\(span(report.age)) of \(span(report.lifetime)) (\(source(report.lifetimeSource)))")
        var size = ProgressBar.bytes(Int64(report.bytes))
        if report.isPart { size += " of \(report.wholeBytes.map { ProgressBar.bytes($0) } ?? "a part")" }
        add("body", size + (report.isFile ? ", in a file" : ""))
        add("on disk", ProgressBar.bytes(Int64(report.diskBytes)))
        add("stored", "\(report.storedAt), last used \(report.lastUsed)")
        if !report.partition.isEmpty { add("partition", printable(report.partition)) }
        if !report.vary.isEmpty { add("varies by", report.vary.map(printable).joined(separator: ", ")) }
        lines.append("  \(report.status)")
        for field in report.headers ?? [] { lines.append("  \(printable(field.name)): \(printable(field.value))") }
        return lines.joined(separator: "\n")
    }

    static func total(_ entries: Int, _ bytes: Int64) -> String { "\(count(entries, "response")), \(ProgressBar.bytes(bytes)) on disk" }

    static func count(_ number: Int, _ noun: String) -> String { "\(grouped(number)) \(noun)\(number == 1 ? "" : "s")" }

    /// `1,234,567`.
    static func grouped(_ number: Int) -> String {
        let digits = Array(String(number.magnitude))
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return (number < 0 ? "-" : "") + text
    }

    /// `0s`, `59s`, `59m`, `47h`, `400d`.
    static func span(_ seconds: Double) -> String {
        let whole = Int(min(max(0, seconds), 1e12))
        return switch whole {
        case ..<120: "\(whole)s"
        case ..<7_200: "\(whole / 60)m"
        case ..<172_800: "\(whole / 3_600)h"
        default: "\(whole / 86_400)d"
        }
    }

    private static func state(_ report: CacheReport) -> String {
        report.seconds.map { "\(report.state) \(span($0))" } ?? report.state
    }

    private static func url(_ report: CacheReport) -> String { (report.method == "GET" ? "" : "\(report.method) ") + printable(report.url) }

    private static func source(_ name: String) -> String {
        switch name {
        case "maxAge": "max-age"
        case "expires": "Expires"
        case "heuristic": "a guess from Last-Modified"
        case "policy": "the policy"
        default: "nobody says how long"
        }
    }

    /// A server chose these bytes: none of them may move the cursor.
    static func printable(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { $0.isPrintable ? $0 : "\u{FFFD}" }))
    }

    private static func short(_ text: String, _ width: Int) -> String {
        let text = printable(text)
        return text.count <= width ? text : text.prefix(width - 1) + "…"
    }

    private static func left(_ text: String, _ width: Int) -> String { text + String(repeating: " ", count: max(0, width - text.count)) }
    private static func right(_ text: String, _ width: Int) -> String { String(repeating: " ", count: max(0, width - text.count)) + text }
}
