import Foundation
import ScopedNetImages

/// Standard output: whether it is a terminal, how wide it is, and writing to it.
struct Terminal: Sendable {
    /// Colour and redrawing; otherwise plain lines without escape codes.
    let isLive: Bool
    /// The best form of pictures, by the environment; nil without colour.
    private let capability: TerminalPicture.Capability?

    init(environment: [String: String] = ProcessInfo.processInfo.environment) {
        let isDumb = environment["TERM"].map { $0 == "dumb" || $0.isEmpty } ?? true
        let refusesColour = environment["NO_COLOR"].map { !$0.isEmpty } ?? false
        isLive = isatty(STDOUT_FILENO) == 1 && !isDumb && !refusesColour
        capability = isLive ? .detect(environment: environment) : nil
    }

    /// Columns and rows right now; the window may change.
    var size: (columns: Int, rows: Int) {
        var window = winsize()
        if ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0 {
            return (max(40, Int(window.ws_col)), max(8, Int(window.ws_row)))
        }
        let columns = ProcessInfo.processInfo.environment["COLUMNS"].flatMap { Int($0) } ?? 100
        return (max(40, columns), 24)
    }

    /// The pictures that can be shown right now; nil for lines about them instead.
    var graphics: Graphics? {
        guard let capability else { return nil }
        var window = winsize()
        var cell: PixelSize?
        if ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &window) == 0, window.ws_xpixel >= max(1, window.ws_col),
            window.ws_ypixel >= max(1, window.ws_row), window.ws_col > 0, window.ws_row > 0
        {
            cell = PixelSize(Int(window.ws_xpixel / window.ws_col), Int(window.ws_ypixel / window.ws_row))
        }
        return Graphics(capability: capability, cell: cell, rows: max(1, size.rows - 4))
    }

    /// All of it in one step where the kernel takes it, so that frames do not tear.
    func write(_ text: String) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let written = bytes.withUnsafeBytes { Foundation.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if written < 0, errno != EINTR { return }
            if written > 0 { bytes = bytes.dropFirst(written) }
        }
    }
}

/// Colours, or none.
struct Style: Sendable {
    enum Colour: String { case bold = "1", dim = "2", red = "31", green = "32", yellow = "33", blue = "34", cyan = "36", boldCyan = "1;36" }

    let isOn: Bool

    func callAsFunction(_ colour: Colour, _ text: String) -> String {
        isOn && !text.isEmpty ? "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m" : text
    }
}

/// Numbers for people.
enum Format {
    static func bytes(_ count: Int64) -> String {
        let units = ["B", "KiB", "MiB", "GiB", "TiB"]
        var value = Double(count)
        var unit = 0
        while value >= 999.5, unit < units.count - 1 {
            value /= 1_024
            unit += 1
        }
        return unit == 0 ? "\(count) B" : "\(fixed(value, value < 99.95 ? 1 : 0)) \(units[unit])"
    }

    static func time(_ duration: Duration) -> String {
        let seconds = duration / .seconds(1)
        if seconds < 0.0995 { return "\(fixed(seconds * 1_000, seconds < 0.00995 ? 1 : 0)) ms" }
        return seconds < 0.9995 ? "\(fixed(seconds * 1_000, 0)) ms" : "\(fixed(seconds, seconds < 9.95 ? 2 : 1)) s"
    }

    static func fixed(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }

    static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
}

extension String {
    /// Exactly so many columns. All characters used here are one column wide.
    func padded(to width: Int, right: Bool = false) -> String {
        let text = clipped(to: width)
        let space = String(repeating: " ", count: max(0, width - text.count))
        return right ? space + text : text + space
    }

    func clipped(to width: Int) -> String {
        count <= width ? self : width < 1 ? "" : prefix(width - 1) + "…"
    }

    /// The end is what tells URLs apart.
    func clippedInTheMiddle(to width: Int) -> String {
        guard count > width else { return self }
        guard width > 8 else { return clipped(to: width) }
        let head = (width - 1) / 3
        return prefix(head) + "…" + suffix(width - 1 - head)
    }

    /// What is not printable could move the cursor, and some of it comes from servers.
    var printable: String {
        String(
            String.UnicodeScalarView(
                unicodeScalars.map { $0.properties.generalCategory == .control || $0.properties.generalCategory == .format ? "·" : $0 }))
    }
}
