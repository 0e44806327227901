import HTTPTypes
import ScopedNet

/// Writes each doorway of a request to standard error, as `curl -v` does: `*` for what happens, `>` for what is sent, `<` for what comes. Secrets
/// are masked. ``request`` has to hear of redirects from a hook.
struct VerboseObserver: RequestObserver {
    let console: Console
    let request = ShownRequest()
    private let mask = SecretMask()
    private let start = ContinuousClock.now

    init(_ console: Console) { self.console = console }

    func observe(_ event: RequestEvent) {
        switch event.kind {
        case .redirected: request.followed()
        case .challenged(let space, _, let answer?): request.answered(answer, isProxy: space.isProxy)
        default: break
        }
        for line in lines(event) { console.report(line) }
    }

    private func lines(_ event: RequestEvent) -> [String] {
        switch event.kind {
        case .started(let attempt):
            let exchange = request.started(event.run)
            let notes = attempt > 1 ? [note(event, "attempt \(attempt)")] : []
            return notes + ["> \(exchange.method.rawValue) \(mask.maskedURL(exchange.url))"] + lines(">", exchange.fields)
        case .headReceived(let head), .informational(let head):
            return ["< \(head)".printable] + lines("<", head.headers)
        default:
            return text(event.kind).map { [note(event, $0)] } ?? []
        }
    }

    private func lines(_ mark: String, _ fields: HTTPFields) -> [String] {
        fields.map { "\(mark) \($0.name.rawName): \(ShownField.value($0.value, of: $0.name.rawName).printable)" }
    }

    private func note(_ event: RequestEvent, _ text: String) -> String {
        let milliseconds = Int((event.time - start) / .milliseconds(1))
        return "* \(milliseconds) ms: \(text.printable)"
    }

    private func text(_ kind: RequestEvent.Kind) -> String? {
        switch kind {
        case .queued(let position): return "waits for a connection, number \(position)"
        case .nameResolved: return "name resolved"
        case .upgraded(_, let to): return "upgraded to \(mask.maskedURL(to)): its host wants https"
        case .connected(let timings):
            let how = timings.isReused ? "uses the connection" : "connected"
            return "\(how) to \(timings.remoteAddress) port \(timings.remotePort)"
        case .secured: return "TLS established"
        case .requestSent: return "request sent"
        case .redirected(let from, let to, let status): return "\(status): \(mask.maskedURL(from)) leads to \(mask.maskedURL(to))"
        case .challenged(let space, let status, let answer):
            return "\(status) from \(space): " + (answer.map { "answered by \($0)" } ?? "not answered")
        case .retryDecided(let reason, let after): return after.map { "tries again after \($0): \(reason)" } ?? "not tried again: \(reason)"
        case .attemptFinished(let metrics, let error):
            if let error { return "\(error)" }
            return "\(metrics.bodyBytesReceived) bytes of body received, \(metrics.bodyBytesSent) sent"
        case .cancelled(let reason): return "cancelled: \(reason)"
        default: return nil
        }
    }
}
