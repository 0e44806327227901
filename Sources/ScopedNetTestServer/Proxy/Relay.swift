#if TestServer
/// What passes through one tunnel, counted. The first side to go decides how it ended.
final class Relay {
    private let ledger: Watched<Ledger>
    private let progress: Watched<RequestProgress>

    init(ledger: Watched<Ledger>, progress: Watched<RequestProgress>) {
        self.ledger = ledger
        self.progress = progress
        ledger.update { $0.requestBegan() }
    }

    func sentToClient(_ count: Int) {
        ledger.update { $0.sent(count) }
        progress.update {
            guard $0.ending == nil else { return }
            $0.bytesSent += count
            $0.bodyBytesSent += count
        }
    }

    func receivedFromClient(_ count: Int) {
        progress.update { $0.bodyBytesReceived += count }
    }

    func end(_ ending: ResponseEnding) {
        let isFirst = progress.update { progress in
            guard progress.ending == nil else { return false }
            progress.ending = ending
            return true
        }
        if isFirst { ledger.update { $0.requestEnded() } }
    }

    /// No connection came about: the answer that says so ends the request.
    func abandon() {
        ledger.update { $0.requestEnded() }
    }

    var isStopping: Bool { ledger.read(\.isStopping) }
}
#endif
