#if TestServer
internal import Synchronization

/// What the connections share with their server. They hold this and not the server, which can then end with its last owner.
final class ServerCore: Sendable {
    let script: Mutex<Script>
    let ledger = Watched(Ledger())
    let stalls = StallRegistry()
    let recordsRequests: Bool
    let recordedBodyLimit: Int

    init(handler: Script.Handler?, recordsRequests: Bool, recordedBodyLimit: Int) {
        self.script = Mutex(Script(fallback: handler))
        self.recordsRequests = recordsRequests
        self.recordedBodyLimit = recordedBodyLimit
    }
}
#endif
