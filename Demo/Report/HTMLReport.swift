import Foundation
@_spi(Census) import ScopedNet
import ScopedNetFoundation

/// What happened, as one HTML page that needs nothing else: no script, no font, no picture from outside.
struct HTMLReport {
    let summary: Summary
    private let date: Date

    init(_ summary: Summary, date: (ContinuousClock.Instant) -> Date) {
        self.summary = summary
        self.date = date(summary.began)
    }

    var text: String {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>ScopedNet demo: \(escaped(summary.title))</title>
        <style>\(ReportStyle.css)</style>
        </head>
        <body>
        \(header)
        \(cards)
        \(overview)
        \(legend)
        \(scopes.map(section).joined(separator: "\n"))
        \(evidence)
        \(footer)
        </body>
        </html>

        """
    }

    // MARK: Above

    private var header: String {
        let day =
            date.formatted(.iso8601.year().month().day().dateSeparator(.dash)) + " "
            + date.formatted(.iso8601.time(includingFractionalSeconds: false)) + " UTC"
        return """
            <header>
            <h1>ScopedNet</h1>
            <p>Requests that live and die with their owner: \(escaped(summary.title)), \(day), \(Format.time(summary.began.duration(to: summary.ended))).</p>
            </header>
            """
    }

    private var cards: String {
        let totals = summary.totals
        var cards = [
            card("Requests", "\(totals.runs)", requestsDetail),
            card("On the wire", Format.bytes(totals.bytesReceived), wireDetail),
        ]
        if totals.cancelled > 0 {
            cards.append(card("Saved by cancelling", Format.bytes(totals.bytesSaved), savedDetail + savedBar, "saved"))
        }
        let alive = max(0, summary.census.after.total - summary.census.baseline.total)
        cards.append(
            card(
                "Alive at the end", "\(alive)",
                summary.census.isClean
                    ? "every request, run, bag, picture, session and transfer is gone" : escaped("\(summary.census.after)"),
                summary.census.isClean ? "good" : "bad"))
        let problems = summary.problems.map { "<p class=\"problem\">\(escaped($0))</p>" }.joined()
        return "<div class=\"cards\">\(cards.joined())</div>\(problems)"
    }

    private func card(_ name: String, _ value: String, _ detail: String, _ kind: String = "") -> String {
        "<div class=\"card \(kind)\"><h2>\(name)</h2><b>\(value)</b><p>\(detail)</p></div>"
    }

    private var requestsDetail: String {
        let totals = summary.totals
        var words = [
            "<i class=\"ok\">✓</i> \(totals.succeeded) succeeded", "<i class=\"no\">✗</i> \(totals.failed) failed",
            "<i class=\"cut\">⊘</i> \(totals.cancelled) cancelled",
        ]
        if totals.detached > 0 { words.append("\(totals.detached) went on detached") }
        return words.map { "<span>\($0)</span>" }.joined(separator: " ")
    }

    private var wireDetail: String {
        let totals = summary.totals
        var words = ["received"]
        if totals.bytesSent > 0 { words.append("\(Format.bytes(totals.bytesSent)) sent") }
        words.append("\(Format.count(totals.exchanges, "exchange")) over \(Format.count(totals.newConnections, "connection"))")
        if totals.retries > 0 { words.append(totals.retries == 1 ? "1 retry" : "\(totals.retries) retries") }
        if totals.redirects > 0 { words.append(Format.count(totals.redirects, "redirect")) }
        return words.joined(separator: ", ")
    }

    private var savedDetail: String {
        let totals = summary.totals
        var text = "of \(Format.bytes(totals.bytesCutOff)) that was on its way"
        if totals.neverSent > 0 { text += "; \(Format.count(totals.neverSent, "request")) never sent" }
        if let evidence = summary.evidence, !evidence.items.isEmpty {
            text += ". The server kept \(Format.bytes(evidence.bytesKept)) by its own count"
        }
        return text
    }

    private var savedBar: String {
        let totals = summary.totals
        guard totals.bytesCutOff > 0 else { return "" }
        let received = percent(100 - Double(totals.bytesSaved) / Double(totals.bytesCutOff) * 100)
        return "<span class=\"meter\"><span style=\"width:\(received)\"></span></span>"
    }

    // MARK: The whole at a glance

    private var scopes: [String?] {
        var scopes: [String?] = []
        for trace in summary.traces where !scopes.contains(page(of: trace)) { scopes.append(page(of: trace)) }
        return scopes
    }

    private var overview: String {
        guard scopes.count > 1 else { return "" }
        let axis = Axis(summary.traces, from: summary.began)
        let lanes = scopes.map { scope -> String in
            let traces = summary.traces.filter { page(of: $0) == scope }
            var marks = ""
            if let visit = visit(scope), let closed = visit.closed {
                marks +=
                    "<span class=\"visit\" style=\"left:\(percent(axis.position(visit.opened)));width:\(percent(axis.width(visit.opened.duration(to: closed))))\"></span>"
            }
            let rowHeight = 100 / Double(traces.count)
            for (index, trace) in traces.enumerated() {
                let place = "left:\(percent(axis.position(trace.created)));width:\(percent(axis.width(trace.duration)))"
                marks +=
                    "<span class=\"run \(outcome(trace))\" style=\"\(place);top:\(percent(Double(index) * rowHeight));height:\(percent(rowHeight))\"></span>"
            }
            let name = scope ?? "no scope"
            return "<a href=\"#\(anchor(scope))\">\(escaped(name))</a><div class=\"lane\" style=\"--n:\(traces.count)\">\(marks)</div>"
        }
        return """
            <section class="overview"><h2>All pages</h2>
            <div class="lanes"><span></span>\(scale(axis))\(lanes.joined())</div>
            <p class="hint">A band is a page from opening to closing; a line in it is a request.</p></section>
            """
    }

    private var legend: String {
        var kinds = Segment.Kind.allCases
        if !summary.traces.contains(where: { $0.url.hasPrefix("https:") }) { kinds.removeAll { $0 == .tls } }
        if summary.totals.retries == 0 { kinds.removeAll { $0 == .retry } }
        var items = kinds.map { "<span><i class=\"seg \($0.rawValue)\"></i>\($0.name)</span>" }
        if summary.totals.cancelled > 0 { items.append("<span><i class=\"seg receive cancelled\"></i>cancelled</span>") }
        if summary.traces.contains(where: { !$0.suspensions.isEmpty }) { items.append("<span><i class=\"seg paused\"></i>paused</span>") }
        return "<div class=\"legend\">\(items.joined())</div>"
    }

    // MARK: A page

    private func section(_ scope: String?) -> String {
        let traces = summary.traces.filter { page(of: $0) == scope }
        let visit = visit(scope)
        let axis = Axis(traces, from: visit?.opened)
        let name = scope ?? "No scope"
        let rows = traces.map { row($0, axis, closed: visit?.closed) }.joined(separator: "\n")
        return """
            <section id="\(anchor(scope))">
            <h2>\(escaped(name))</h2>
            \(visit.map { "<p class=\"what\">\(escaped(sentence($0.what)))</p>" } ?? "")
            \(pictures(of: scope))
            <div class="head"><span>Request</span><span>Status</span><span>Bytes</span><span>Time</span>\(scale(axis))</div>
            \(rows)
            </section>
            """
    }

    private func row(_ trace: RunTrace, _ axis: Axis, closed: ContinuousClock.Instant?) -> String {
        let kind = outcome(trace)
        let mark = ["ok": "✓", "no": "✗", "cut": "⊘", "open": "…"][kind] ?? ""
        let status = trace.head.map { "\($0.status)" } ?? "–"
        return """
            <details class="row \(kind)"><summary>
            <span class="name"><i class="\(kind)">\(mark)</i> <em>\(escaped(trace.method.rawValue))</em> <b>\(escaped(short(trace.url)))</b>\(note(trace))</span>
            <span class="num">\(status)</span><span class="num">\(bytes(trace))</span><span class="num">\(Format.time(trace.duration))</span>
            <span class="chart">\(grid(axis))\(closing(axis, closed))\(bars(trace, axis))</span>
            </summary>\(facts(trace))</details>
            """
    }

    private func bytes(_ trace: RunTrace) -> String {
        trace.bytesReceived == 0 && trace.bytesSent > 0 ? "↑ \(Format.bytes(trace.bytesSent))" : Format.bytes(trace.bytesReceived)
    }

    /// Why it ended, if it did not end well, and what is special about it.
    private func note(_ trace: RunTrace) -> String {
        var words: [String] = []
        if let cancellation = trace.cancellation {
            if trace.isDetached {
                words.append("its page closed under way (\(cancellation.reason)); it went on, detached")
            } else if let cause = trace.causeOfCancel {
                words.append(cause)
            }
            if let saved = trace.bytesSaved, saved > 0 { words.append("\(Format.bytes(saved)) not fetched") }
            if trace.isCancelled, trace.exchanges.isEmpty { words.append("never sent") }
        }
        if let error = trace.error { words.append(error.message.isEmpty ? "\(error)" : error.message) }
        if zip(trace.exchanges, trace.exchanges.dropFirst()).contains(where: { $0.attempt == $1.attempt }), let last = trace.exchanges.last
        {
            words.append("redirected to \(short(last.url))")
        }
        if trace.attempts > 1 { words.append("attempt \(trace.attempts)") }
        if let pause = trace.suspensions.first, let end = pause.ended {
            words.append("paused for \(Format.time(pause.began.duration(to: end)))")
        }
        return words.isEmpty ? "" : "<small>\(escaped(words.joined(separator: " · ")))</small>"
    }

    // MARK: The waterfall

    private func bars(_ trace: RunTrace, _ axis: Axis) -> String {
        let isCut = trace.isCancelled
        var html = Segment.all(of: trace).map { segment in
            let title = "\(segment.kind.name): \(Format.time(segment.length))"
            // Where a cancelled run stood when it ended is hatched.
            let hatch = isCut && segment.start + segment.length >= (trace.ended ?? segment.start) - .milliseconds(2) ? " cancelled" : ""
            return
                "<span class=\"seg \(segment.kind.rawValue)\(hatch)\" style=\"\(place(segment.start, segment.length, axis))\" title=\"\(title)\"></span>"
        }.joined()
        for pause in trace.suspensions {
            let length = pause.began.duration(to: pause.ended ?? trace.latest)
            html +=
                "<span class=\"seg paused\" style=\"\(place(pause.began, length, axis))\" title=\"paused: \(Format.time(length))\"></span>"
        }
        return html
    }

    private func place(_ start: ContinuousClock.Instant, _ length: Duration, _ axis: Axis) -> String {
        "left:\(percent(axis.position(start)));width:\(percent(axis.width(length)))"
    }

    private func closing(_ axis: Axis, _ closed: ContinuousClock.Instant?) -> String {
        guard let closed, axis.start.duration(to: closed) <= axis.length else { return "" }
        return "<span class=\"closing\" style=\"left:\(percent(axis.position(closed)))\" title=\"the page is closed\"></span>"
    }

    private func grid(_ axis: Axis) -> String {
        axis.ticks.dropFirst().map { "<s style=\"left:\(percent($0.position))\"></s>" }.joined()
    }

    private func scale(_ axis: Axis) -> String {
        let labels = axis.ticks.map { tick in
            "<span\(tick.position > 93 ? " class=\"last\"" : "") style=\"left:\(percent(tick.position))\">\(tick.label)</span>"
        }
        return "<span class=\"scale\">\(labels.joined())</span>"
    }

    // MARK: Details

    private func facts(_ trace: RunTrace) -> String {
        let kinds: [Segment.Kind] = [.queued, .dns, .connect, .tls, .send, .wait, .receive]
        let head = kinds.map { "<th>\($0.name)</th>" }.joined()
        let rows = trace.exchanges.map { exchange -> String in
            let times = exchange.phases(now: trace.ended ?? trace.latest).inOrder
            let cells = times.map { "<td>\($0.1 > .zero ? Format.time($0.1) : "")</td>" }.joined()
            return
                "<tr><td>\(exchange.attempt)</td><td class=\"url\">\(escaped(short(exchange.url)))</td><td>\(exchange.head.map { escaped("\($0)") } ?? "–")</td><td>\(connection(exchange))</td>\(cells)</tr>"
        }
        let table =
            rows.isEmpty
            ? "<p>Nothing was sent.</p>"
            : "<div class=\"wide\"><table><tr><th>try</th><th>URL</th><th>response</th><th>connection</th>\(head)</tr>\(rows.joined())</table></div>"
        let retries = trace.retryWaits.map {
            "<p>Waited to retry for \(Format.time($0.began.duration(to: $0.ended ?? trace.latest))): \(escaped($0.reason)).</p>"
        }
        let place = trace.isOfImageLoader ? trace.scope ?? trace.origin : trace.origin
        return "<div class=\"facts\">\(table)\(retries.joined())<p>Started at \(escaped(place)).</p></div>"
    }

    private func connection(_ exchange: RunTrace.Exchange) -> String {
        guard let metrics = exchange.metrics, !metrics.remoteAddress.isEmpty else { return "–" }
        return escaped("\(metrics.remoteAddress):\(metrics.remotePort), \(metrics.isConnectionReused ? "reused" : "new")")
    }

    // MARK: Below

    private var evidence: String {
        guard let items = summary.evidence?.items, !items.isEmpty else { return "" }
        let rows = items.map { item in
            "<tr><td class=\"url\">\(escaped(item.target))</td><td>\(Format.bytes(item.expected))</td><td>\(Format.bytes(item.received))</td><td>\(Format.bytes(item.sent))</td><td>\(Format.bytes(max(0, item.expected - item.sent)))</td></tr>"
        }
        return """
            <section><h2>What the server says</h2>
            <p class="what">Responses that a cancellation cut off. The server counts the bytes it handed to the kernel; some of them never reached the client.</p>
            <div class="wide"><table><tr><th>target</th><th>declared</th><th>client received</th><th>server sent</th><th>never left it</th></tr>\(rows.joined())</table></div></section>
            """
    }

    private var footer: String {
        let seen = summary.serverConnections.map { " The server accepted \(Format.count($0, "connection"))." } ?? ""
        return "<footer>Open a row for its phases. The same as HAR 1.2: scopednet-demo.har.\(seen)</footer>"
    }

    // MARK: Parts

    private func outcome(_ trace: RunTrace) -> String {
        if trace.isCancelled { return "cut" }
        return switch trace.ending {
        case .succeeded: "ok"
        case .failed: "no"
        case nil: "open"
        }
    }

    private func page(of trace: RunTrace) -> String? { summary.pages[trace.id] }

    private func visit(_ scope: String?) -> Board.Visit? { summary.visits.first { $0.scope == scope } }

    private func anchor(_ scope: String?) -> String { "scope-\(scopes.firstIndex(of: scope) ?? 0)" }

    private func sentence(_ text: String) -> String { text.prefix(1).uppercased() + text.dropFirst() + "." }

    private func short(_ url: String) -> String {
        // The demo's own server is the same in all of them.
        guard summary.evidence != nil, let path = url.split(separator: "/", maxSplits: 2).last, url.split(separator: "/").count > 2 else {
            return url
        }
        return "/" + path
    }

    private func percent(_ value: Double) -> String { "\(Format.fixed(value, 3))%" }

    func escaped(_ text: String) -> String {
        var html = ""
        for character in text.printable {
            switch character {
            case "&": html += "&amp;"
            case "<": html += "&lt;"
            case ">": html += "&gt;"
            case "\"": html += "&quot;"
            case "'": html += "&#39;"
            default: html.append(character)
            }
        }
        return html
    }
}
