/// Receives every event of every request in a session. Read-only.
///
/// Several may be installed; they are called in the order of `Session.Configuration.observers`, before the delegate and the closures, on the
/// run's delivery executor, never under a lock and never on the network thread. A run nobody observes creates no events.
public protocol RequestObserver: Sendable {
    /// Receives one event. Return soon: the callbacks of the run wait for it.
    func observe(_ event: RequestEvent)

    /// Receives a warning about the session's settings, where the session is made. Does nothing by default.
    func observe(_ warning: SessionWarning)
}

extension RequestObserver {
    /// Ignores the warning.
    public func observe(_ warning: SessionWarning) {}
}
