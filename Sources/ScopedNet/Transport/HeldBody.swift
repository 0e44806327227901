import SystemSupport

/// A response body whose place is still being decided: the transport reads none of it until then.
///
/// Its bytes wait in the connection, which is paused at the first of them; the idle clock is held. On HTTP/2 with a libcurl below 8 they wait in
/// memory instead, up to the stream's window (37 MiB seen), which is why requests that may hold a body use HTTP/1.1 there.
@_spi(Transport) public final class HeldBody: Sendable {
    private struct State {
        var place: BodyDestination?
        var isAwaited = false
        var resume: (@Sendable () -> Void)?
    }

    private let state = Lock(State())

    package init() {}

    // MARK: Transport's side

    /// - Parameter decided: asks the transport to go on, on any thread, at most once, and only where ``destination()`` had no answer.
    package func connect(decided: @escaping @Sendable () -> Void) { state.withLock { $0.resume = decided } }

    /// Where the bytes at hand go. Nil: nowhere yet.
    package func destination() -> BodyDestination? {
        state.withLock { state in
            if state.place == nil { state.isAwaited = true }
            return state.place
        }
    }

    // MARK: Engine's side

    /// Once. Any thread.
    package func decide(_ place: BodyDestination) {
        let resume = state.withLock { state -> (@Sendable () -> Void)? in
            state.place = place
            defer { state.resume = nil }
            return state.isAwaited ? state.resume : nil
        }
        resume?()
    }
}
