import FoundationEssentials
import ScopedNet

/// The hosts that want https, in the file format of curl's `--hsts`: a line for each, `.example.org "20270101 12:00:00"`, with a dot in front where
/// the names below count, too, and `unlimited` for one without an end.
struct HSTSFile: Sendable {
    let path: String
    let store = Session.HSTSStore()
    private let text: String

    /// - Throws: a ``ToolFailure`` for a file that is there and cannot be read.
    init(_ path: String) throws(ToolFailure) {
        self.path = path
        let url = FilePlace.url(path)
        guard FileManager.default.fileExists(atPath: url.path) else {
            text = ""
            return
        }
        do { text = try String(contentsOf: url, encoding: .utf8) } catch {
            throw ToolFailure(ExitStatus(code: 26), "\(path) cannot be read\n  check that the file may be read")
        }
        // Lines that are none are passed over, as by curl.
        for line in text.split(whereSeparator: \.isNewline) { if let entry = Self.entry(line) { try? store.add([entry]) } }
    }

    /// Writes the file anew, in one step, where a response has changed something.
    func save() throws(ToolFailure) {
        let changed = Self.text(store.entries)
        guard changed != Self.text(text.split(whereSeparator: \.isNewline).compactMap(Self.entry)) else { return }
        do { try Data(changed.utf8).write(to: FilePlace.url(path), options: .atomic) } catch {
            throw ToolFailure(ExitStatus(code: 23), "\(path) cannot be written\n  check that the folder may be written to")
        }
    }

    static func text(_ entries: [Session.HSTSStore.Entry]) -> String {
        let lines = entries.map { entry in
            "\(entry.includesSubdomains ? "." : "")\(entry.host) \"\(entry.expiryDate.map(date) ?? "unlimited")\"\n"
        }
        return "# Hosts that want https (RFC 6797), in the format of curl's --hsts.\n" + lines.sorted().joined()
    }

    static func entry(_ line: some StringProtocol) -> Session.HSTSStore.Entry? {
        let parts = line.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, !line.hasPrefix("#"), parts[1].count > 2, parts[1].first == "\"", parts[1].last == "\"" else { return nil }
        let when = parts[1].dropFirst().dropLast()
        let isWide = parts[0].hasPrefix(".")
        let host = String(isWide ? parts[0].dropFirst() : parts[0][...])
        if when == "unlimited" { return Session.HSTSStore.Entry(host, includesSubdomains: isWide) }
        guard let date = date(when) else { return nil }
        return Session.HSTSStore.Entry(host, includesSubdomains: isWide, expiryDate: date)
    }

    // MARK: Dates, in UTC

    private static var calendar: Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        return calendar
    }

    private static func date(_ date: Date) -> String {
        let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
        func two(_ number: Int?) -> String { (number ?? 0) < 10 ? "0\(number ?? 0)" : "\(number ?? 0)" }
        return "\(parts.year ?? 0)\(two(parts.month))\(two(parts.day)) \(two(parts.hour)):\(two(parts.minute)):\(two(parts.second))"
    }

    private static func date(_ text: some StringProtocol) -> Date? {
        let bytes = Array(text.utf8)
        guard bytes.count == 17, bytes[8] == 0x20, bytes[11] == 0x3A, bytes[14] == 0x3A else { return nil }
        func number(_ range: Range<Int>) -> Int? { Int(String(decoding: bytes[range], as: UTF8.self)) }
        var parts = DateComponents()
        (parts.year, parts.month, parts.day) = (number(0..<4), number(4..<6), number(6..<8))
        (parts.hour, parts.minute, parts.second) = (number(9..<11), number(12..<14), number(15..<17))
        guard parts.year != nil, parts.month != nil, parts.day != nil, parts.hour != nil, parts.minute != nil, parts.second != nil else {
            return nil
        }
        return calendar.date(from: parts)
    }
}
