public import Foundation
public import ScopedNet

/// Records what a session does, for a HAR file (HTTP Archive 1.2) that browsers' developer tools open.
///
/// ```swift
/// let recorder = HARRecorder()
/// configuration.observers.append(recorder)
/// // … requests …
/// try recorder.write(to: URL(filePath: "session.har"))
/// ```
///
/// Each attempt and redirect hop is an entry of its own; each scope (the label of a bag) is a page. Bodies are not kept. Secrets in URLs
/// and header fields are masked unless the recorder is told otherwise.
public final class HARRecorder: RequestObserver {
    private struct State {
        var traces: [UInt64: RunTrace] = [:]
        /// In order of creation.
        var order: [UInt64] = []
    }

    private let state = Lock(State())
    private let limit: Int
    private let mask: SecretMask?
    // What turns a monotonic instant into a date.
    private let epoch = (instant: ContinuousClock.now, date: Date())

    /// - Parameters:
    ///   - limit: the most runs kept; beyond it the oldest are forgotten.
    ///   - mask: hides secrets; nil writes them out.
    public init(limit: Int = 10_000, mask: SecretMask? = SecretMask()) {
        self.limit = max(1, limit)
        self.mask = mask
    }

    public func observe(_ event: RequestEvent) {
        state.withLock { state in
            let id = event.run.id
            guard state.traces[id] == nil else {
                state.traces[id]?.apply(event)
                return
            }
            state.traces[id] = RunTrace(event)
            state.order.append(id)
            guard state.order.count > limit else { return }
            // Forgotten in halves, so that it costs nothing on average.
            for old in state.order.prefix(state.order.count - max(1, limit / 2)) { state.traces[old] = nil }
            state.order.removeFirst(state.order.count - max(1, limit / 2))
        }
    }

    /// The runs so far, in the order they were started.
    public var traces: [RunTrace] {
        state.withLock { state in state.order.compactMap { state.traces[$0] } }
    }

    /// The date of an instant.
    public func date(of instant: ContinuousClock.Instant) -> Date {
        epoch.date.addingTimeInterval(epoch.instant.duration(to: instant) / .seconds(1))
    }

    /// The archive of everything recorded so far.
    public func document() -> HARDocument {
        HARDocument(traces, mask: mask) { self.date(of: $0) }
    }

    /// Writes the archive as JSON, in one step: a reader sees the old file or the complete new one.
    public func write(to file: URL) throws {
        try document().json().write(to: file, options: .atomic)
    }
}
