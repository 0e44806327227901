import ScopedNet
import SystemSupport

/// Draws a progress bar while a body is sent or received.
struct ProgressObserver: RequestObserver {
    let console: Console
    private let start = ContinuousClock.now
    private let drawn = Latest()

    init(_ console: Console) { self.console = console }

    func observe(_ event: RequestEvent) {
        let progress: TransferProgress
        switch event.kind {
        case .sent(let sent): progress = sent
        case .received(let received): progress = received
        default: return
        }
        guard drawn.isDue(event.time) else { return }
        console.show(ProgressBar.line(progress, elapsed: event.time - start, width: console.width))
    }

    private final class Latest: Sendable {
        private let time = Lock<ContinuousClock.Instant?>(nil)

        func isDue(_ now: ContinuousClock.Instant) -> Bool {
            time.withLock { time in
                if let last = time, now - last < ProgressBar.interval { return false }
                time = now
                return true
            }
        }
    }
}
