import ScopedNet
import ScopedNetFoundation
import ScopedNetTestServer

/// What a number of runs add up to (pure).
struct Totals {
    var runs = 0
    var succeeded = 0
    var failed = 0
    var cancelled = 0
    var detached = 0
    var retries = 0
    var redirects = 0
    /// Cancelled before the first byte of the request.
    var neverSent = 0
    var bytesReceived: Int64 = 0
    var bytesSent: Int64 = 0
    /// Declared by the responses that were cut off, and not received.
    var bytesSaved: Int64 = 0
    /// What these responses declared in all.
    var bytesCutOff: Int64 = 0
    var newConnections = 0
    var exchanges = 0

    init(_ traces: [RunTrace]) {
        for trace in traces { add(trace) }
    }

    private mutating func add(_ trace: RunTrace) {
        runs += 1
        exchanges += trace.exchanges.count
        bytesReceived += trace.bytesReceived
        bytesSent += trace.bytesSent
        retries += trace.retryWaits.count
        redirects += zip(trace.exchanges, trace.exchanges.dropFirst()).count { $0.attempt == $1.attempt }
        newConnections += trace.exchanges.count { $0.metrics.map { !$0.isConnectionReused && $0.requestSent > .zero } ?? false }
        if trace.isDetached { detached += 1 }
        if trace.isCancelled {
            cancelled += 1
            if trace.exchanges.isEmpty { neverSent += 1 }
            guard let saved = trace.bytesSaved, let expected = trace.exchanges.last?.bytesExpected else { return }
            bytesSaved += saved
            bytesCutOff += expected
        } else {
            switch trace.ending {
            case .succeeded: succeeded += 1
            case .failed: failed += 1
            case nil: break
            }
        }
    }
}

/// What the server says about the responses that were cut off: its own count of what it handed to the kernel.
struct Evidence: Sendable {
    struct Item: Sendable {
        let target: String
        let expected: Int64
        let received: Int64
        let sent: Int64
    }

    private(set) var items: [Item] = []
    var bytesKept: Int64 { items.reduce(0) { $0 + max(0, $1.expected - $1.sent) } }

    init(_ traces: [RunTrace], server requests: [RecordedRequest], baseURL: String) async throws {
        for trace in traces where trace.bytesSaved != nil {
            guard let last = trace.exchanges.last, let expected = last.bytesExpected, expected > 0, last.url.hasPrefix(baseURL) else {
                continue
            }
            let target = "/" + last.url.dropFirst(baseURL.count)
            guard let request = requests.last(where: { $0.target == target }) else { continue }
            // After its end no counter moves.
            _ = try await request.ending()
            items.append(Item(target: target, expected: expected, received: last.bytesReceived, sent: Int64(request.bodyBytesSent)))
        }
    }
}

extension RunTrace {
    var fraction: Double { exchanges.last?.received?.fraction ?? 0 }

    /// True for a transfer of an image loader. It is in no page's bag, as loads of several pages may share it: the bags have the loads.
    /// Its scope names the first of them, such as `Demo/FeedPage.swift:58`.
    var isOfImageLoader: Bool { scope?.contains("/") ?? true }

    /// True where the loader has ended it: all loads of the picture are gone, or its first bytes are of a format that cannot be shown.
    var isNotNeeded: Bool { isOfImageLoader && cancellation?.reason == .explicit }

    /// The cause of a cancellation, for people.
    var causeOfCancel: String? {
        guard let reason = cancellation?.reason else { return nil }
        if reason == .ownerReleased { return "\(scope ?? "its bag") gone: \(reason)" }
        return isNotNeeded ? "not needed any more" : "cancelled: \(reason)"
    }
}
