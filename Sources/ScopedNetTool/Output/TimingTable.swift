import ScopedNet

/// What `--timing` prints of the last attempt (pure).
enum TimingTable {
    static func lines(_ metrics: TransferMetrics) -> [String] {
        let connection = metrics.isConnectionReused ? "reused" : "new"
        let port = metrics.remotePort > 0 ? " port \(metrics.remotePort)" : ""
        let rows = [
            ("name lookup", time(metrics.nameLookup)), ("connect", time(metrics.connect)), ("TLS", time(metrics.secured)),
            ("request sent", time(metrics.requestSent)), ("first byte", time(metrics.firstByte)), ("total", time(metrics.total)),
            ("sent", "\(ProgressBar.bytes(Int64(metrics.requestBytes) + metrics.bodyBytesSent))"),
            ("received", "\(ProgressBar.bytes(Int64(metrics.headerBytesReceived) + metrics.bodyBytesReceived))"),
            ("connection", metrics.remoteAddress.isEmpty ? "none" : "\(connection), to \(metrics.remoteAddress)\(port)"),
            ("protocol", metrics.httpVersion.isEmpty ? "none" : "HTTP/\(metrics.httpVersion)"),
        ]
        return rows.map { name, value in "\(name)\(String(repeating: " ", count: 14 - name.count))\(value)" }
    }

    /// Since the start of the attempt; a dash where there was no such step.
    private static func time(_ time: Duration) -> String {
        guard time > .zero else { return "-" }
        let tenths = Int((time / .microseconds(100)).rounded())
        return tenths < 100_000 ? "\(tenths / 10).\(tenths % 10) ms" : "\(tenths / 10_000).\(tenths / 1_000 % 10) s"
    }
}
