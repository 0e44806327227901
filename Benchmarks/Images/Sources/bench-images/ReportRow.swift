import Foundation

/// A row of the table: a figure of ScopedNetImages, those of its peers, and the bar.
struct ReportRow: Encodable {
    let name: String
    let measured: String
    var figure: String
    var plain: String?
    var plainRatio: Double?
    var gdkPixbuf: String?
    var gdkPixbufRatio: Double?
    var bar: String?
    /// Nil without a bar.
    var isMet: Bool?

    init(_ name: String, _ measured: String, _ figure: String) { (self.name, self.measured, self.figure) = (name, measured, figure) }

    /// Judges a value that is to be at most `most`.
    func bar(_ text: String, _ value: Double, most: Double) -> ReportRow {
        var row = self
        (row.bar, row.isMet) = (text, value <= most)
        return row
    }

    func plain(_ text: String, ratio: Double?) -> ReportRow {
        var row = self
        (row.plain, row.plainRatio) = (text, ratio)
        return row
    }

    func gdkPixbuf(_ text: String?, ratio: Double?) -> ReportRow {
        var row = self
        (row.gdkPixbuf, row.gdkPixbufRatio) = (text, ratio)
        return row
    }

    /// Prints the line that `Scripts/bench` reads.
    func report() {
        guard let line = try? JSONEncoder().encode(self) else { fail("a row that cannot be written") }
        print(String(decoding: line, as: UTF8.self))
        fflush(nil)
    }
}

/// The forms of figures.
enum Form {
    static func time(_ microseconds: Double) -> String {
        switch microseconds {
        case ..<1: String(format: "%.0f ns", microseconds * 1_000)
        case ..<1_000: String(format: "%.1f µs", microseconds)
        case ..<10_000: String(format: "%.2f ms", microseconds / 1_000)
        case ..<10_000_000: String(format: "%.1f ms", microseconds / 1_000)
        default: String(format: "%.1f s", microseconds / 1_000_000)
        }
    }

    static func bytes(_ count: Double) -> String {
        count < 1_048_576 ? String(format: "%.0f KiB", count / 1_024) : String(format: "%.1f MiB", count / 1_048_576)
    }

    static func percent(_ fraction: Double) -> String { String(format: "%.1f %%", fraction * 100) }
}
