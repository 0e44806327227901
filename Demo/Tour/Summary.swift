import Foundation
@_spi(Census) import ScopedNet
import ScopedNetFoundation

/// What a run of the demo has shown, for the terminal and for the page.
struct Summary {
    let title: String
    let began: ContinuousClock.Instant
    let ended = ContinuousClock.now
    let traces: [RunTrace]
    let visits: [Board.Visit]
    /// ``Board/pages``
    let pages: [UInt64: String]
    /// ``Board/pictures``
    let pictures: [String: [PictureFacts]]
    let census: Census
    let evidence: Evidence?
    let serverConnections: Int?
    /// What did not go as it should.
    let problems: [String]
    let totals: Totals

    init(
        title: String, began: ContinuousClock.Instant, traces: [RunTrace], board: Board, census: Census, evidence: Evidence?,
        serverConnections: Int?, problems: [String]
    ) {
        self.title = title
        self.began = began
        self.traces = traces
        (visits, pages, pictures) = (board.visits, board.pages, board.pictures)
        self.census = census
        self.evidence = evidence
        self.serverConnections = serverConnections
        self.problems = problems
        totals = Totals(traces)
    }

    // MARK: In words

    var requests: String {
        var words = ["\(totals.succeeded) succeeded", "\(totals.failed) failed", "\(totals.cancelled) cancelled"]
        if totals.detached > 0 { words.append("\(totals.detached) detached") }
        return "\(Format.count(totals.runs, "request")): " + words.joined(separator: ", ")
    }

    var wire: String {
        var text = "\(Format.bytes(totals.bytesReceived)) received"
        if totals.bytesSent > 0 { text += ", \(Format.bytes(totals.bytesSent)) sent" }
        return text + "; \(Format.count(totals.exchanges, "exchange")) over \(Format.count(totals.newConnections, "connection"))"
    }

    var saved: String {
        guard totals.cancelled > 0 else { return "nothing was cancelled" }
        var text = "\(Format.bytes(totals.bytesSaved)) of \(Format.bytes(totals.bytesCutOff)) never fetched"
        if totals.neverSent > 0 { text += ", \(Format.count(totals.neverSent, "request")) never sent" }
        return text
    }

    var savedByServer: String? {
        guard let evidence, !evidence.items.isEmpty else { return nil }
        return "the server's own count: \(Format.bytes(evidence.bytesKept)) of these never left it"
    }

    var living: String {
        census.isClean ? "zero alive: no request, run, bag, picture, session or transfer" : "LEFT ALIVE: \(census.after)"
    }

    func lines(_ style: Style, width: Int) -> [String] {
        func line(_ name: String, _ text: String, _ colour: Style.Colour? = nil) -> String {
            let text = text.clipped(to: width - 12)
            return "  " + style(.dim, name.padded(to: 10)) + (colour.map { style($0, text) } ?? text)
        }
        var lines = ["", style(.bold, "Summary") + style(.dim, "  " + Format.time(began.duration(to: ended)))]
        lines.append(line("requests", requests))
        lines.append(line("wire", wire))
        lines.append(line("saved", saved, totals.bytesSaved > 0 ? .green : nil))
        if let savedByServer { lines.append(line("", savedByServer)) }
        lines.append(line("census", living, census.isClean ? .green : .red))
        for problem in problems { lines.append(line("problem", problem, .red)) }
        return lines
    }
}
