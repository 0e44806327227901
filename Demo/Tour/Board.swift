import ScopedNet
import ScopedNetFoundation
import Synchronization

/// What is known about every run, and what shall be said about it: an observer like any other.
final class Board: RequestObserver {
    /// Something for the terminal, in the order it happened.
    enum Line: Sendable {
        case opened(scope: String, what: String)
        case closed(scope: String)
        case ended(RunTrace)
        case redirected(RunTrace, to: String, status: Int)
        case retried(RunTrace, reason: String, after: Duration)
        case detached(RunTrace)
        case note(String)
        /// Beside each other, each in so many columns.
        case pictures([ShownPicture], columns: Int)
        case title(String, String)
        /// As it is.
        case formatted(String)
    }

    /// A page from opening to closing.
    struct Visit: Sendable {
        let scope: String
        let what: String
        let opened: ContinuousClock.Instant
        var closed: ContinuousClock.Instant?
    }

    private struct State {
        var traces: [UInt64: RunTrace] = [:]
        var order: [UInt64] = []
        var pages: [UInt64: String] = [:]
        var pictures: [String: [PictureFacts]] = [:]
        var said: Set<UInt64> = []
        var lines: [Line] = []
        var visits: [Visit] = []
        var failedChecks: [String] = []
    }

    private let state = Mutex(State())

    // MARK: Observing

    func observe(_ event: RequestEvent) {
        state.withLock { state in
            let id = event.run.id
            if state.traces[id] == nil {
                let trace = RunTrace(event)
                state.traces[id] = trace
                state.order.append(id)
                let owner = trace.isOfImageLoader ? nil : trace.scope
                state.pages[id] = owner ?? state.visits.last { $0.closed == nil }?.scope
            } else {
                state.traces[id]?.apply(event)
            }
            guard let trace = state.traces[id] else { return }
            switch event.kind {
            case .redirected(_, let target, let status): state.lines.append(.redirected(trace, to: target, status: status))
            case .retryDecided(let reason, let after?): state.lines.append(.retried(trace, reason: reason, after: after))
            case .cancelled where trace.isDetached: state.lines.append(.detached(trace))
            default: break
            }
            // A cancelled transfer says a moment later what it had cost.
            if trace.isComplete, state.said.insert(id).inserted { state.lines.append(.ended(trace)) }
        }
    }

    // MARK: Telling

    func opened(_ scope: String, _ what: String) {
        state.withLock { state in
            state.visits.append(Visit(scope: scope, what: what, opened: .now))
            state.lines.append(.opened(scope: scope, what: what))
        }
    }

    func closed(_ scope: String) {
        state.withLock { state in
            guard let index = state.visits.lastIndex(where: { $0.scope == scope }) else { return }
            state.visits[index].closed = .now
            state.lines.append(.closed(scope: scope))
        }
    }

    /// Says what closing the page has ended.
    func summed(_ scope: String) {
        let totals = Totals(traces(of: scope).filter { isEndedByClosing($0) })
        guard totals.cancelled > 0 else { return }
        var text = "\(totals.cancelled) requests ended with the page"
        if totals.bytesSaved > 0 { text += ", \(Format.bytes(totals.bytesSaved)) not fetched" }
        if totals.neverSent > 0 { text += ", \(totals.neverSent) never sent" }
        note(text)
    }

    /// True for what ended with the page, and for transfers that nobody needed any more when its loads of pictures ended.
    private func isEndedByClosing(_ trace: RunTrace) -> Bool {
        guard let cancellation = trace.cancellation else { return false }
        if cancellation.reason == .ownerReleased { return true }
        guard trace.isNotNeeded, let closed = visits.last(where: { $0.scope == pages[trace.id] })?.closed else { return false }
        return cancellation.time >= closed
    }

    /// Pictures that a page shows: in the terminal now, and in the report.
    func show(_ pictures: [ShownPicture], of page: String, columns: Int) {
        state.withLock { state in
            state.pictures[page, default: []] += pictures.map(\.facts)
            state.lines.append(.pictures(pictures, columns: columns))
        }
    }

    func note(_ text: String) { state.withLock { $0.lines.append(.note(text)) } }
    func title(_ title: String, _ text: String) { state.withLock { $0.lines.append(.title(title, text)) } }
    func formatted(_ lines: [String]) { state.withLock { $0.lines += lines.map { .formatted($0) } } }

    /// The demo watches itself: what does not hold makes it fail.
    func check(_ what: String, _ holds: Bool) {
        if !holds { state.withLock { $0.failedChecks.append(what) } }
    }

    // MARK: Reading

    var traces: [RunTrace] { state.withLock { state in state.order.compactMap { state.traces[$0] } } }
    /// The page of each run: the label of its bag; for a run without a page's bag, the page that was open when it began.
    var pages: [UInt64: String] { state.withLock { $0.pages } }
    /// The pictures that each page has shown.
    var pictures: [String: [PictureFacts]] { state.withLock { $0.pictures } }
    var visits: [Visit] { state.withLock { $0.visits } }
    var failedChecks: [String] { state.withLock { $0.failedChecks } }

    func traces(of page: String) -> [RunTrace] {
        state.withLock { state in state.order.filter { state.pages[$0] == page }.compactMap { state.traces[$0] } }
    }

    /// What is to be said since the last call.
    func takeLines() -> [Line] {
        state.withLock { state in
            defer { state.lines = [] }
            return state.lines
        }
    }

    /// Waits for something to have happened.
    func until(_ what: String, within limit: Duration = .seconds(20), _ condition: ([RunTrace]) -> Bool) async throws {
        let deadline = ContinuousClock.now + limit
        while !condition(traces) {
            guard ContinuousClock.now < deadline else { throw DemoFailure("waited in vain until \(what)") }
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}
