import ScopedNet
import ScopedNetFoundation

/// How things are said in the terminal, at a given width (pure).
///
///     ✓ Feed       GET  pictures/fjord          200  65.8 KiB  612 ms  reused
struct LineFormat {
    let style: Style
    let width: Int
    /// Left out of the URLs, as it says nothing new.
    let baseURL: String
    /// Nil for lines in the place of pictures.
    let graphics: Graphics?
    /// ``Board/pages``
    let pages: [UInt64: String]

    private static let scopeWidth = 9
    private static let methodWidth = 4
    private var urlWidth: Int { min(46, max(22, (width - 42) * 45 / 100)) }
    private var noteWidth: Int { max(0, width - 2 - Self.scopeWidth - 1 - Self.methodWidth - 1 - urlWidth - 25) }
    private var isWide: Bool { noteWidth >= 40 }

    func lines(_ line: Board.Line) -> [String] {
        switch line {
        case .opened(let scope, let what): opened(scope, what)
        case .closed(let scope): [style(.dim, "■ \(scope) is closed")]
        case .ended(let trace): ended(trace)
        case .redirected(let trace, let target, let status): [redirected(trace, target, status)]
        case .retried(let trace, let reason, let wait): [retried(trace, reason, wait)]
        case .detached(let trace): [detached(trace)]
        case .note(let text): wrapped(text, indent: 2).map { style(.dim, $0) }
        case .title(let title, let text): titled(title, text)
        case .pictures(let pictures, let columns): shown(pictures, columns)
        case .formatted(let text): [text]
        }
    }

    private func titled(_ title: String, _ text: String) -> [String] {
        [style(.bold, title) + "  " + style(.dim, text.clipped(to: width - title.count - 2)), columnNames]
    }

    private var columnNames: String {
        let figures = "bytes".padded(to: 9, right: true) + " " + "time".padded(to: 8, right: true)
        return style(
            .dim,
            "  " + "scope".padded(to: Self.scopeWidth) + " " + "".padded(to: Self.methodWidth) + " " + "URL".padded(to: urlWidth - 3)
                + " status "
                + figures + "  " + "connection".clipped(to: noteWidth))
    }

    // MARK: Pages

    private func opened(_ scope: String, _ what: String) -> [String] {
        ["", style(.boldCyan, "▸ \(scope)") + "  " + style(.dim, what.clipped(to: width - scope.count - 4))]
    }

    private func shown(_ pictures: [ShownPicture], _ columns: Int) -> [String] {
        guard let graphics else { return pictures.flatMap { wrapped($0.facts.sentence.printable, indent: 2) } }
        return PictureStrip(pictures: pictures, columns: columns, graphics: graphics, style: style).lines(width: width)
    }

    // MARK: Runs

    private func ended(_ trace: RunTrace) -> [String] {
        if trace.isCancelled { return [cancelled(trace)] }
        if let error = trace.error { return failed(trace, error) }
        return [
            lead("✓", .green, trace) + figures(trace) + style(.dim, succeededNote(trace).clipped(to: noteWidth))
        ]
    }

    private func succeededNote(_ trace: RunTrace) -> String {
        var words: [String] = []
        if let metrics = trace.exchanges.last?.metrics { words.append(metrics.isConnectionReused ? "reused" : "new") }
        if isWide, let metrics = trace.exchanges.last?.metrics {
            words[0] += " connection \(metrics.localPort)"
            if !metrics.httpVersion.isEmpty { words.append("HTTP/\(metrics.httpVersion)") }
            if let coding = trace.head?["content-encoding"] { words.append(coding.printable) }
        }
        if trace.attempts > 1 { words.append(isWide ? "attempt \(trace.attempts)" : "try \(trace.attempts)") }
        if trace.isDetached, !isWide { return "detached" }
        if trace.isDetached { words.append("detached") }
        if trace.bytesSent > 0 { words.append("sent \(Format.bytes(trace.bytesSent))") }
        return words.joined(separator: ", ")
    }

    private func failed(_ trace: RunTrace, _ error: NetworkError) -> [String] {
        let first = lead("✗", .red, trace) + figures(trace)
        let text = explained(error).printable
        if text.count <= noteWidth { return [first + style(.red, text)] }
        return [first + style(.red, "failed")] + wrapped(text, indent: 2).map { style(.red, $0) }
    }

    private func explained(_ error: NetworkError) -> String {
        if error.code == .unacceptableStatus { return error.message }
        return error.message.isEmpty ? "\(error)" : "\(error.message) (\(error.code) while \(error.phase.rawValue))"
    }

    private func cancelled(_ trace: RunTrace) -> String {
        let reason = trace.cancellation?.reason.description ?? ""
        var note = trace.isNotNeeded ? "not needed" : reason
        if isWide {
            note = trace.causeOfCancel ?? reason
            if let saved = trace.bytesSaved, let expected = trace.exchanges.last?.bytesExpected, saved > 0 {
                note += ", \(Format.bytes(saved)) of \(Format.bytes(expected)) not fetched"
            } else if trace.exchanges.isEmpty {
                note += ", never sent"
            } else if let wait = trace.retryWaits.last, let ended = wait.ended, ended >= (trace.ended ?? ended) {
                note += ", while it waited to try again"
            }
        }
        return lead("⊘", .yellow, trace) + figures(trace) + style(.yellow, note.clipped(to: noteWidth))
    }

    private func redirected(_ trace: RunTrace, _ target: String, _ status: Int) -> String {
        let from = trace.exchanges.last?.url ?? trace.url
        return lead("→", .blue, trace, url: from) + figures(status: "\(status)", bytes: "", time: "")
            + style(.dim, "to \(short(target))".clippedInTheMiddle(to: noteWidth))
    }

    private func retried(_ trace: RunTrace, _ reason: String, _ wait: Duration) -> String {
        let status = trace.head.map { "\($0.status)" } ?? "–"
        let when = wait < .milliseconds(1) ? "again at once" : "again in \(Format.time(wait))"
        return lead("↻", .yellow, trace) + figures(status: status, bytes: "", time: "")
            + style(.dim, (isWide ? "\(when): \(reason)" : when).clipped(to: noteWidth))
    }

    private func detached(_ trace: RunTrace) -> String {
        lead("↗", .blue, trace) + figures(status: "", bytes: Format.bytes(trace.bytesSent), time: "")
            + style(.dim, (isWide ? "its page is gone; it goes on, detached" : "goes on detached").clipped(to: noteWidth))
    }

    // MARK: Columns

    private func lead(_ mark: String, _ colour: Style.Colour, _ trace: RunTrace, url: String? = nil) -> String {
        style(colour, mark) + " " + style(.dim, (pages[trace.id] ?? "–").padded(to: Self.scopeWidth)) + " "
            + trace.method.rawValue.padded(to: Self.methodWidth) + " "
            + short(url ?? trace.url).clippedInTheMiddle(to: urlWidth).padded(to: urlWidth) + " "
    }

    private func figures(_ trace: RunTrace) -> String {
        let status = trace.head.map { "\($0.status)" } ?? "–"
        return figures(status: status, bytes: Format.bytes(trace.bytesReceived), time: Format.time(trace.duration))
    }

    private func figures(status: String, bytes: String, time: String) -> String {
        let colour: Style.Colour = status.hasPrefix("2") ? .green : status.hasPrefix("3") ? .blue : status.hasPrefix("–") ? .dim : .red
        return style(colour, status.padded(to: 3, right: true)) + " " + bytes.padded(to: 9, right: true) + " "
            + time.padded(to: 8, right: true) + "  "
    }

    private func short(_ url: String) -> String {
        var text = url.printable[...]
        for prefix in [baseURL, "https://", "http://"] where !prefix.isEmpty && text.hasPrefix(prefix) {
            text = text.dropFirst(prefix.count)
            break
        }
        return String(text)
    }

    private func wrapped(_ text: String, indent: Int) -> [String] {
        let space = String(repeating: " ", count: indent)
        var lines: [String] = []
        var line = space
        for word in text.split(separator: " ") {
            if line.count > indent, line.count + 1 + word.count > width {
                lines.append(line)
                line = space
            }
            line += (line.count > indent ? " " : "") + word
        }
        return (lines + [line]).map { $0.clipped(to: width) }
    }

    // MARK: What is going on

    /// One line a run with its progress, redrawn in place.
    func live(_ trace: RunTrace, now: ContinuousClock.Instant, frame: Int) -> String {
        let spinner = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"]
        let room = width - 2 - Self.scopeWidth - 1 - Self.methodWidth - 1 - urlWidth - 1
        let barWidth = min(48, room - 25)
        func line(_ mark: String, _ colour: Style.Colour, _ bar: String, _ percent: String, _ bytes: String, _ rest: String) -> String {
            lead(mark, colour, trace) + bar + " " + percent.padded(to: 4, right: true) + " " + bytes.padded(to: 8, right: true) + " "
                + style(.dim, rest.padded(to: 10, right: true))
        }
        if trace.isQueued { return lead("·", .dim, trace) + style(.dim, "queued") }
        if trace.isWaitingToRetry, let wait = trace.retryWaits.last {
            return lead("↻", .yellow, trace) + style(.yellow, (isWide ? "waits to try again" : "to be retried").padded(to: barWidth))
                + style(.dim, " \(Format.time(wait.began.duration(to: now)))")
        }
        guard let exchange = trace.exchanges.last else { return lead("·", .dim, trace) }
        let isUpload = (exchange.sent?.completed ?? 0) > 0 && exchange.head == nil
        let progress = isUpload ? exchange.sent : exchange.received
        let elapsed = max(0.001, exchange.started.duration(to: now) / .seconds(1))
        let rate = trace.isSuspended ? "paused" : "\(Format.bytes(Int64(Double(progress?.completed ?? 0) / elapsed)))/s"
        let mark = trace.isSuspended ? "‖" : spinner[frame / 2 % spinner.count]
        let colour: Style.Colour = trace.isSuspended ? .yellow : isUpload ? .blue : .cyan
        guard let progress, progress.completed > 0 else {
            return line(mark, colour, bouncing(frame, barWidth), "", "", "waits")
        }
        guard let fraction = progress.fraction else {
            return line(mark, colour, bouncing(frame, barWidth), "", Format.bytes(progress.completed), rate)
        }
        return line(
            mark, colour, bar(fraction, barWidth, colour), "\(Int(fraction * 100))%", Format.bytes(progress.completed), rate)
    }

    private func bar(_ fraction: Double, _ width: Int, _ colour: Style.Colour) -> String {
        let halves = Int((fraction * Double(width) * 2).rounded(.down))
        let full = String(repeating: "━", count: halves / 2) + (halves % 2 == 1 ? "╸" : "")
        return style(colour, full) + style(.dim, String(repeating: "─", count: max(0, width - full.count)))
    }

    private func bouncing(_ frame: Int, _ width: Int) -> String {
        let size = min(5, width)
        let span = max(1, width - size)
        let step = frame % (2 * span)
        let position = step < span ? step : 2 * span - step
        return style(.dim, String(repeating: "─", count: position)) + style(.cyan, String(repeating: "━", count: size))
            + style(.dim, String(repeating: "─", count: width - size - position))
    }

    func footer(_ traces: [RunTrace], elapsed: Duration) -> String {
        let totals = Totals(traces)
        let open = traces.filter { !$0.isOver }
        let queued = open.count { $0.isQueued }
        var words = ["\(open.count - queued) under way"]
        if queued > 0 { words.append("\(queued) queued") }
        words.append("\(totals.succeeded + totals.failed + totals.cancelled) ended")
        words.append("\(Format.bytes(totals.bytesReceived)) received")
        if totals.bytesSaved > 0 { words.append("\(Format.bytes(totals.bytesSaved)) saved") }
        words.append("\(Format.fixed(elapsed / .seconds(1), 1)) s")
        return style(.dim, ("  " + words.joined(separator: " · ")).clipped(to: width))
    }
}
