import ScopedNet
import ScopedNetFoundation

/// A stretch of one kind on a run's time line (pure).
struct Segment {
    enum Kind: String, CaseIterable {
        case queued, dns, connect, tls, send, wait, receive, retry

        var name: String {
            switch self {
            case .queued: "queued"
            case .dns: "DNS"
            case .connect: "connect"
            case .tls: "TLS"
            case .send: "send"
            case .wait: "wait"
            case .receive: "receive"
            case .retry: "waiting to retry"
            }
        }
    }

    let kind: Kind
    let start: ContinuousClock.Instant
    let length: Duration

    /// The time line of a run: its exchanges one after the other, and the waits between them.
    static func all(of trace: RunTrace) -> [Segment] {
        let end = trace.ended ?? trace.latest
        guard !trace.exchanges.isEmpty else {
            return [Segment(kind: .queued, start: trace.created, length: trace.created.duration(to: end))]
        }
        var segments: [Segment] = []
        for exchange in trace.exchanges {
            let phases = exchange.phases(now: end)
            var start = exchange.metrics.map { $0.started - phases.queued } ?? exchange.submitted
            for (kind, length) in phases.inOrder where length > .zero {
                segments.append(Segment(kind: kind, start: start, length: length))
                start += length
            }
        }
        for wait in trace.retryWaits {
            segments.append(Segment(kind: .retry, start: wait.began, length: wait.began.duration(to: wait.ended ?? end)))
        }
        return segments
    }
}

extension RunTrace.Exchange.Phases {
    var inOrder: [(Segment.Kind, Duration)] {
        [(.queued, queued), (.dns, nameLookup), (.connect, connect), (.tls, tls), (.send, send), (.wait, wait), (.receive, receive)]
    }
}

/// A stretch of time that a chart is as wide as.
struct Axis {
    let start: ContinuousClock.Instant
    let length: Duration

    init(_ traces: [RunTrace], from start: ContinuousClock.Instant? = nil) {
        let starts = traces.map(\.created) + (start.map { [$0] } ?? [])
        let begin = starts.min() ?? .now
        // The last transfer of a cancelled run ends a moment after the run.
        let ends = traces.flatMap { trace in [trace.ended ?? trace.latest] + Segment.all(of: trace).map { $0.start + $0.length } }
        self.start = begin
        length = max(.milliseconds(1), begin.duration(to: ends.max() ?? begin))
    }

    /// Percent of the width.
    func position(_ instant: ContinuousClock.Instant) -> Double { max(0, min(100, start.duration(to: instant) / length * 100)) }
    func width(_ duration: Duration) -> Double { max(0, min(100, duration / length * 100)) }

    /// Four to eight round steps.
    var ticks: [(position: Double, label: String)] {
        let total = length / .seconds(1)
        var step = 0.000_01
        for factor in [2, 2.5, 2, 2, 2.5, 2, 2, 2.5, 2, 2, 2.5, 2, 2, 2.5, 2, 2, 2.5, 2, 2, 2.5, 2] where total / step > 6 {
            step *= factor
        }
        return (0...Int(total / step)).map { index in
            let time = Double(index) * step
            return (time / total * 100, index == 0 ? "0" : total < 1 ? "\(short(time * 1_000)) ms" : "\(short(time)) s")
        }
    }

    private func short(_ value: Double) -> String {
        func isRound(_ value: Double) -> Bool { abs(value - value.rounded()) < 1e-6 }
        return isRound(value) ? "\(Int(value.rounded()))" : Format.fixed(value, isRound(value * 10) ? 1 : 2)
    }
}
