public import Foundation
import HTTPTypes
import ScopedNet

/// From what was seen to what is written (pure).
extension HARDocument {
    /// Makes a document of traces: an entry for each exchange, a page for each scope.
    ///
    /// - Parameters:
    ///   - traces: those of runs, also of runs that have not ended; entries are sorted by their time.
    ///   - bodies: the bodies of the last responses, by ``RunTrace/id``.
    ///   - masksSecrets: writes `***` in place of secrets, as ``HARRecorder`` does. Default: true.
    ///   - secretNames: further names whose values are masked, in any letters.
    ///   - date: the wall clock at an instant.
    public init(
        _ traces: [RunTrace], bodies: [UInt64: Data] = [:], masksSecrets: Bool = true, secretNames: Set<String> = [],
        date: (ContinuousClock.Instant) -> Date
    ) {
        self.init(traces, bodies: bodies, mask: masksSecrets ? SecretMask(additionalNames: secretNames) : nil, date: date)
    }

    init(_ traces: [RunTrace], bodies: [UInt64: Data], mask: SecretMask?, date: (ContinuousClock.Instant) -> Date) {
        var log = Log()
        var pages: [String: String] = [:]
        for trace in traces {
            if let scope = trace.scope, pages[scope] == nil {
                let id = "page_\(pages.count + 1)"
                pages[scope] = id
                log.pages.append(Page(startedDateTime: Self.text(date(trace.created)), id: id, title: scope))
            }
            let writer = EntryWriter(trace: trace, page: trace.scope.flatMap { pages[$0] }, body: bodies[trace.id], mask: mask)
            log.entries += writer.entries { Self.text(date($0)) }
        }
        // Readers expect the order of the requests.
        log.entries.sort { $0.startedDateTime < $1.startedDateTime }
        self.init(log: log)
    }

    private static func text(_ date: Date) -> String {
        date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}

/// The entries of one run.
private struct EntryWriter {
    let trace: RunTrace
    let page: String?
    let body: Data?
    let mask: SecretMask?

    func entries(_ date: (ContinuousClock.Instant) -> String) -> [HARDocument.Entry] {
        guard !trace.exchanges.isEmpty else { return [neverSent(date)] }
        return trace.exchanges.indices.map { entry($0, date) }
    }

    /// Cancelled in the queue, or refused before anything was sent.
    private func neverSent(_ date: (ContinuousClock.Instant) -> String) -> HARDocument.Entry {
        let waited = max(0, milliseconds(trace.duration))
        var entry = HARDocument.Entry(
            pageref: page, startedDateTime: date(trace.created), time: waited, request: request(url: trace.url, nil),
            response: response(nil),
            timings: HARDocument.Timings(blocked: waited, dns: -1, connect: -1, send: 0, wait: 0, receive: 0, ssl: -1),
            comment: "never sent", _scopednet: details(nil))
        entry._scopednet.cancelReason = trace.cancellation?.reason.description
        entry._scopednet.error = trace.error?.description
        return entry
    }

    private func entry(_ index: Int, _ date: (ContinuousClock.Instant) -> String) -> HARDocument.Entry {
        let exchange = trace.exchanges[index]
        let isLast = index == trace.exchanges.count - 1
        // Only the last response's body reaches anybody.
        let body = isLast ? body : nil
        let timings = timings(exchange.phases(now: trace.ended ?? trace.latest))
        var entry = HARDocument.Entry(
            pageref: page, startedDateTime: date(exchange.submitted), time: timings.sum, request: request(url: exchange.url, exchange),
            response: response(exchange, body), timings: timings, _scopednet: details(exchange))
        if let metrics = exchange.metrics, !metrics.remoteAddress.isEmpty {
            entry.serverIPAddress = metrics.remoteAddress
            entry.connection = "\(metrics.localPort)"
        }
        if isLast { entry._scopednet.cancelReason = trace.cancellation?.reason.description }
        let error = isLast ? trace.error ?? exchange.error : exchange.error
        if let error, !error.isCancelled {
            entry._scopednet.error = error.description
            if exchange.head != nil, exchange.error != nil { entry._scopednet.transportError = true }
        }
        entry.comment = comment(index, exchange)
        return entry
    }

    private func details(_ exchange: RunTrace.Exchange?) -> HARDocument.Details {
        HARDocument.Details(
            run: trace.id, attempt: exchange?.attempt ?? 0, scope: trace.scope, origin: trace.origin, bytesExpected: exchange?.bytesExpected
        )
    }

    private func comment(_ index: Int, _ exchange: RunTrace.Exchange) -> String? {
        if index < trace.exchanges.count - 1 {
            return trace.exchanges[index + 1].attempt > exchange.attempt ? "attempt \(exchange.attempt), retried" : "redirected"
        }
        guard let cancellation = trace.cancellation else { return nil }
        if trace.isDetached { return "went on detached after: \(cancellation.reason)" }
        return "cancelled: \(cancellation.reason)"
    }

    // MARK: Parts

    private func request(url: String, _ exchange: RunTrace.Exchange?) -> HARDocument.Request {
        let url = mask?.maskedURL(url) ?? url
        return HARDocument.Request(
            method: trace.method.rawValue, url: url, httpVersion: version(exchange), headers: fields(trace.headers),
            queryString: query(url),
            headersSize: -1, bodySize: exchange?.bytesSent ?? 0)
    }

    private func response(_ exchange: RunTrace.Exchange?, _ body: Data? = nil) -> HARDocument.Response {
        let head = exchange?.head
        var content = HARDocument.Content(size: exchange?.bytesReceived ?? 0, mimeType: head?.mimeType ?? "")
        if let body { add(body, to: &content) }
        return HARDocument.Response(
            status: head?.status ?? 0, statusText: head?.reasonPhrase ?? "", httpVersion: version(exchange),
            headers: fields(head?.headers ?? [:]),
            content: content,
            redirectURL: head.map { (300..<400).contains($0.status) ? location($0) : "" } ?? "",
            headersSize: head == nil ? -1 : exchange?.metrics?.headerBytesReceived ?? -1,
            bodySize: head == nil ? -1 : exchange?.bytesReceived ?? -1)
    }

    private func add(_ body: Data, to content: inout HARDocument.Content) {
        content.size = Int64(body.count)
        guard let text = String(data: body, encoding: .utf8) else {
            content.text = body.base64EncodedString()
            content.encoding = "base64"
            return
        }
        content.text = mask?.maskedBody(text, mimeType: content.mimeType) ?? text
    }

    private func location(_ head: ResponseHead) -> String {
        guard let location = head["location"] else { return "" }
        return mask?.maskedURL(location) ?? location
    }

    private func version(_ exchange: RunTrace.Exchange?) -> String {
        guard let version = exchange?.head?.version ?? exchange?.metrics?.httpVersion, !version.isEmpty else { return "unknown" }
        return "HTTP/\(version)"
    }

    private func fields(_ fields: HTTPFields) -> [HARDocument.NameValue] {
        fields.map { field in
            let name = field.name.rawName
            return HARDocument.NameValue(name: name, value: mask?.maskedValue(field.value, ofField: name) ?? field.value)
        }
    }

    private func query(_ url: String) -> [HARDocument.NameValue] {
        guard let items = URLComponents(string: url)?.queryItems else { return [] }
        return items.map { HARDocument.NameValue(name: $0.name, value: $0.value ?? "") }
    }

    private func timings(_ phases: RunTrace.Exchange.Phases) -> HARDocument.Timings {
        let isNew = !phases.isReused
        return HARDocument.Timings(
            blocked: milliseconds(phases.queued), dns: isNew ? milliseconds(phases.nameLookup) : -1,
            connect: isNew ? milliseconds(phases.connect + phases.tls) : -1, send: milliseconds(phases.send),
            wait: milliseconds(phases.wait),
            receive: milliseconds(phases.receive), ssl: isNew && phases.tls > .zero ? milliseconds(phases.tls) : -1)
    }

    /// To the microsecond.
    private func milliseconds(_ duration: Duration) -> Double { (duration / .microseconds(1)).rounded() / 1_000 }
}

extension HARDocument.Timings {
    /// The time of the entry, by the specification: every phase that applies, `ssl` being inside `connect`.
    fileprivate var sum: Double {
        let parts = [blocked, dns, connect, send, wait, receive].filter { $0 > 0 }
        return (parts.reduce(0, +) * 1_000).rounded() / 1_000
    }
}
