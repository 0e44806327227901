import Foundation
import ScopedNet
import SystemSupport

/// One run, and the calls that were made for it.
final class TrackedRun: Sendable {
    private struct Calls {
        var successes = 0
        var failures = 0
        var reasons: [EndReason] = []
        var endedAt: ContinuousClock.Instant?
        var waiting: [CheckedContinuation<Void, Never>] = []
        var blocked: [DispatchSemaphore] = []
    }

    let name: String
    let began = ContinuousClock.now
    private let calls = Lock(Calls())
    private let handle = Lock<Run?>(nil)

    private let heads: AsyncStream<Void>
    private let head: AsyncStream<Void>.Continuation

    init(name: String) {
        self.name = name
        (heads, head) = AsyncStream.makeStream(of: Void.self)
    }

    func start<Value>(_ request: Request<Value>, in bag: DeallocBag? = nil) {
        _ = request.onSuccess { [self] _ in calls.withLock { $0.successes += 1 } }
            .onFailure { [self] _ in calls.withLock { $0.failures += 1 } }
            .onResponseHead { [self] _ in head.finish() }
            .onEnd { [self] reason in count(reason) }
        let result = bag.map { request.start(in: $0) } ?? request.start()
        // Kept no longer than it goes on: a handle keeps its session.
        handle.withLock { $0 = result }
        if reason != nil { handle.withLock { $0 = nil } }
    }

    @discardableResult
    func cancel() -> Run.CancelResult { handle.withLock { $0 }?.cancel() ?? .alreadyEnded }

    /// One call of `onEnd`.
    func count(_ reason: EndReason) {
        let waiting = calls.withLock { calls in
            calls.reasons.append(reason)
            if calls.endedAt == nil { calls.endedAt = .now }
            defer { (calls.waiting, calls.blocked) = ([], []) }
            return (calls.waiting, calls.blocked)
        }
        handle.withLock { $0 = nil }
        head.finish()
        for continuation in waiting.0 { continuation.resume() }
        for semaphore in waiting.1 { semaphore.signal() }
    }

    /// Waits for the head of the response, or the end: from then on it has its connection.
    func hasHead() async { for await _ in heads {} }

    /// Waits for the end, and tells how it came.
    @discardableResult
    func end() async -> EndReason? {
        await withCheckedContinuation { continuation in
            let isOver = calls.withLock { calls in
                if calls.reasons.isEmpty { calls.waiting.append(continuation) }
                return !calls.reasons.isEmpty
            }
            if isOver { continuation.resume() }
        }
        return calls.withLock { $0.reasons.first }
    }

    /// Blocks the calling thread until the end; false when it does not come in this time.
    @discardableResult
    func waitOnThisThread(atMost limit: Duration = .seconds(60)) -> Bool {
        let over = DispatchSemaphore(value: 0)
        let isOver = calls.withLock { calls in
            if calls.reasons.isEmpty { calls.blocked.append(over) }
            return !calls.reasons.isEmpty
        }
        return isOver || over.wait(timeout: .now() + .nanoseconds(Int(max(limit, .zero) / .nanoseconds(1)))) == .success
    }

    var reason: EndReason? { calls.withLock { $0.reasons.first } }

    /// From the start to the end; nil while it goes on.
    var duration: Duration? { calls.withLock { $0.endedAt }.map { began.duration(to: $0) } }

    /// What is not as promised: one end, one success or failure that fits it, an error with a code and words.
    var problem: String? {
        let calls = calls.withLock { $0 }
        guard calls.reasons.count == 1, let reason = calls.reasons.first else { return "\(name): \(calls.reasons.count) ends" }
        switch reason {
        case .succeeded where (calls.successes, calls.failures) == (1, 0): return nil
        case .cancelled where (calls.successes, calls.failures) == (0, 0): return nil
        case .failed(let error) where (calls.successes, calls.failures) == (0, 1):
            return error.code == .other || error.message.isEmpty ? "\(name): an error without a type: \(error)" : nil
        default: return "\(name): \(calls.successes) successes and \(calls.failures) failures for the end \(reason)"
        }
    }
}

extension EndReason {
    /// The error it failed with, if it did.
    var error: NetworkError? { if case .failed(let error) = self { error } else { nil } }
    var isSuccess: Bool { if case .succeeded = self { true } else { false } }
}
