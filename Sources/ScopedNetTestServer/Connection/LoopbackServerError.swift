#if TestServer
/// Why a server or a proxy did not start.
public enum LoopbackServerError: Error, Sendable, Hashable {
    /// It runs already, or is being started.
    case alreadyRunning
}
#endif
