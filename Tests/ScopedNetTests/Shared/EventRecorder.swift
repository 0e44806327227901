import SystemSupport

@testable import ScopedNet

/// Keeps every event, and lets a test wait for one.
final class EventRecorder: RequestObserver {
    private struct State {
        var events: [RequestEvent] = []
        var waiters: [(@Sendable (RequestEvent.Kind) -> Bool, CheckedContinuation<Void, Never>)] = []
    }
    private let state = Lock(State())

    func observe(_ event: RequestEvent) {
        let ready = state.withLock { state in
            state.events.append(event)
            let ready = state.waiters.filter { $0.0(event.kind) }.map(\.1)
            state.waiters.removeAll { $0.0(event.kind) }
            return ready
        }
        for waiter in ready { waiter.resume() }
    }

    var events: [RequestEvent.Kind] { state.withLock { $0.events.map(\.kind) } }

    func wait(for wanted: @escaping @Sendable (RequestEvent.Kind) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.events.contains(where: { wanted($0.kind) }) { return true }
                state.waiters.append((wanted, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// The decisions of the retry policy, in order.
    var retryDecisions: [String] {
        events.compactMap {
            if case .retryDecided(let reason, let after) = $0 { "\(reason): \(after == nil ? "stop" : "retry")" } else { nil }
        }
    }

    var attempts: [Int] { events.compactMap { if case .started(let attempt) = $0 { attempt } else { nil } } }
}
