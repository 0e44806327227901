public import Foundation
public import ScopedNet
import SystemSupport

/// Records what a session does, for a HAR file (HTTP Archive 1.2) that browsers' developer tools open.
///
/// ```swift
/// let recorder = HARRecorder()
/// configuration.observers.append(recorder)
/// // … requests …
/// try recorder.write(to: URL(filePath: "session.har"))
/// ```
///
/// Each attempt and redirect hop is an entry of its own; each scope (the label of a bag) is a page. Secrets in URLs and header
/// fields are masked unless the recorder is told otherwise, and so are those in bodies of JSON and forms where bodies are kept.
public final class HARRecorder: RequestObserver {
    /// What becomes of response bodies.
    public struct Bodies: Sendable, Hashable {
        let limit: Int

        /// They are left out.
        public static let omitted = Bodies(limit: 0)
        /// The last response of each run is kept, if it was held in memory: enough for a replay.
        public static let kept = Bodies(limit: 1 << 20)
        /// The same, with another limit than 1 MiB for each.
        public static func kept(upTo limit: Int) -> Bodies { Bodies(limit: limit) }
    }

    private struct State {
        /// Of the last responses.
        var bodies: [UInt64: Data] = [:]
        var traces: [UInt64: RunTrace] = [:]
        /// In order of creation.
        var order: [UInt64] = []
    }

    private let state = Lock(State())
    private let limit: Int
    private let mask: SecretMask?
    private let bodies: Bodies
    // What turns a monotonic instant into a date.
    private let epoch = (instant: ContinuousClock.now, date: Date())

    /// - Parameters:
    ///   - limit: the most runs kept; beyond it the oldest are forgotten.
    ///   - bodies: whether the bodies of responses are kept; a replay needs them.
    ///   - masksSecrets: writes `***` in place of credentials, and of the values of fields, query items and JSON members whose name says that they
    ///     are secret: `token`, `key`, `password`, `signature` and the like. Default: true.
    ///   - secretNames: further names whose values are masked, in any letters.
    public init(limit: Int = 10_000, bodies: Bodies = .omitted, masksSecrets: Bool = true, secretNames: Set<String> = []) {
        self.bodies = bodies
        self.limit = max(1, limit)
        mask = masksSecrets ? SecretMask(additionalNames: secretNames) : nil
    }

    /// Records the event. Called by the session, on the run's delivery executor.
    public func observe(_ event: RequestEvent) {
        state.withLock { state in
            let id = event.run.id
            if case .finished(let completion) = event.kind, !completion.body.isEmpty, completion.body.count <= bodies.limit {
                state.bodies[id] = completion.body
            }
            guard state.traces[id] == nil else {
                state.traces[id]?.apply(event)
                return
            }
            state.traces[id] = RunTrace(event)
            state.order.append(id)
            guard state.order.count > limit else { return }
            // Forgotten in halves, so that it costs nothing on average.
            for old in state.order.prefix(state.order.count - max(1, limit / 2)) {
                state.traces[old] = nil
                state.bodies[old] = nil
            }
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
        let bodies = state.withLock { $0.bodies }
        return HARDocument(traces, bodies: bodies, mask: mask) { self.date(of: $0) }
    }

    /// Writes the archive as JSON, in one step: a reader sees the old file or the complete new one.
    public func write(to file: URL) throws {
        try document().json().write(to: file, options: .atomic)
    }
}
