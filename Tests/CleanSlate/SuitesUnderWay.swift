internal import Dispatch
internal import Persistence
internal import ScopedNet
import SystemSupport

/// Counts the suites that run. Descriptors and threads belong to the process: while suites run side by side nobody can say whose they are, so the
/// last one to end looks.
final class SuitesUnderWay: Sendable {
    static let shared = SuitesUnderWay()

    private let count = Lock(0)
    /// All suites at once on a few cores starve each other: each test then takes as long as all of them together, and the clocks of those that
    /// wait for something run out.
    private let turnstile = Turnstile(width: 16)
    /// Taken once, while all suites wait for it.
    private let baseline = Task.detached {
        await SuitesUnderWay.warmUp()
        return ProcessInventory.now()
    }

    func begin() async {
        count.withLock { $0 += 1 }
        _ = await baseline.value
        await turnstile.enter()
    }

    /// What the platform opens once and keeps, and the one session that is everybody's, are there before anything is counted.
    private static func warmUp() async {
        _ = Session.shared
        // Its descriptor is made once and never closed: a signal handler may be about to write to it.
        _ = try? TerminationFlush([], signals: [])
        // A look again and again: the end of another suite has no event to wait for.
        try? await Task.sleep(for: .milliseconds(1))
        await withCheckedContinuation { continuation in
            DispatchQueue.global().asyncAfter(wallDeadline: .now() + .milliseconds(1)) { continuation.resume() }
        }
    }

    /// - Returns: what is left when nobody runs any more, if anything.
    func end(within deadline: Duration) async -> String? {
        turnstile.leave()
        let isLast = count.withLock { count in
            count -= 1
            return count == 0
        }
        guard isLast else { return nil }
        let baseline = await baseline.value
        // Threads end by themselves, a moment after their last session, and neither they nor the kernel tell anybody: so this looks again and
        // again, up to the deadline. A suite that begins meanwhile looks itself when it ends.
        let end = ContinuousClock.now + deadline
        while count.withLock({ $0 == 0 }) {
            guard let excess = ProcessInventory.now().excess(over: baseline) else { return nil }
            if ContinuousClock.now >= end { return excess }
            // A look again and again: the end of another suite has no event to wait for.
            try? await Task.sleep(for: .milliseconds(5))
        }
        return nil
    }
}
