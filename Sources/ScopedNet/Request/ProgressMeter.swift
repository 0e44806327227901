/// The rate of a body, from its counts in the last seconds. (pure)
struct ProgressMeter: Sendable {
    private struct Sample {
        var time: UInt64
        var bytes: Int64
    }

    /// Samples are half a second apart, and reach four seconds back.
    private static let spacing: UInt64 = 500_000_000
    private static let most = 9
    /// A shorter time says nothing.
    private static let shortest: UInt64 = 100_000_000

    private var samples: [Sample] = []

    /// The progress with a rate, from the counts at a time in nanoseconds of one clock.
    mutating func progress(_ direction: Run.Progress.Direction, _ counts: TransferProgress, now: UInt64) -> Run.Progress {
        // Another file, or a retry from the start.
        if let last = samples.last, counts.completed < last.bytes { samples = [] }
        let rate = samples.first.flatMap { first -> Double? in
            guard now >= first.time &+ Self.shortest else { return nil }
            return Double(counts.completed - first.bytes) / (Double(now - first.time) / 1e9)
        }
        if samples.last.map({ now >= $0.time &+ Self.spacing }) ?? true {
            samples.append(Sample(time: now, bytes: counts.completed))
            if samples.count > Self.most { samples.removeFirst() }
        }
        return Run.Progress(direction: direction, bytes: counts.completed, total: counts.total, bytesPerSecond: rate)
    }
}
