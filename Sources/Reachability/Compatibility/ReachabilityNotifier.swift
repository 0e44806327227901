import SystemSupport

/// Closures for "there is a network" and "there is none", as in the Reachability classes many projects carry with them.
public final class ReachabilityNotifier: Sendable {
    /// The kind of network behind the preferred interface.
    public enum Connection: Sendable, Hashable, CustomStringConvertible {
        /// `wifi` stands for everything that is not cellular: Ethernet, too.
        case unavailable, wifi, cellular

        /// The connection in English, such as `No Connection`.
        public var description: String {
            switch self {
            case .unavailable: "No Connection"
            case .wifi: "WiFi"
            case .cellular: "Cellular"
            }
        }
    }

    /// A closure that is called with the notifier on the monitor's thread, or where `hop` carries it.
    public typealias Handler = @Sendable (ReachabilityNotifier) -> Void

    private struct State {
        var whenReachable: Handler?
        var whenUnreachable: Handler?
    }

    private let manager: NetworkReachabilityManager
    private let state = Lock(State())

    /// Makes a notifier that has not started yet.
    ///
    /// - Parameters:
    ///   - target: the default path, an address or a host.
    ///   - configuration: that of the monitor.
    ///   - hop: carries each call of a closure to another thread or queue; nil, the default, for the monitor's thread.
    public init(
        target: NetworkPath.Target = .defaultPath, configuration: ReachabilityMonitor.Configuration = .init(),
        through hop: (@Sendable (@escaping @Sendable () -> Void) -> Void)? = nil
    ) {
        manager = NetworkReachabilityManager(target: target, configuration: configuration, through: hop)
        manager.setReachabilityStatusChange { [weak self] status in self?.tell(status) }
    }

    /// Nil where the text names no host.
    public convenience init?(hostname: String) {
        guard let target = NetworkPath.Target(hostname) else { return nil }
        self.init(target: target)
    }

    /// Called with the first answer and with every change between none, WiFi and cellular.
    public var whenReachable: Handler? {
        get { state.withLock { $0.whenReachable } }
        set {
            let old = state.withLock { state in
                defer { state.whenReachable = newValue }
                return state.whenReachable
            }
            _ = old
        }
    }

    /// Called when there is no path to the target any more, or none at the start.
    public var whenUnreachable: Handler? {
        get { state.withLock { $0.whenUnreachable } }
        set {
            let old = state.withLock { state in
                defer { state.whenUnreachable = newValue }
                return state.whenUnreachable
            }
            _ = old
        }
    }

    /// The connection of the moment; `unavailable` before the first start.
    public var connection: Connection {
        switch manager.networkReachabilityStatus {
        case .reachableViaWiFi: .wifi
        case .reachableViaWWAN: .cellular
        case .unknown, .notReachable: .unavailable
        }
    }

    /// Begins to watch; ``connection`` is right when this returns. Started again, it tells the state anew.
    ///
    /// - Throws: as ``ReachabilityMonitor/start()``.
    public func startNotifier() throws(ReachabilityError) {
        manager.startMonitoring()
        // Started already, unless there was a reason not to: then this says it.
        try manager.monitor.start()
    }

    /// Stops; a call that was admitted before may still be running. Never blocks.
    public func stopNotifier() { manager.stopMonitoring() }

    private func tell(_ status: NetworkReachabilityManager.Status) {
        let handler = state.withLock { state -> Handler? in
            switch status {
            case .reachableViaWiFi, .reachableViaWWAN: state.whenReachable
            case .notReachable: state.whenUnreachable
            case .unknown: nil
            }
        }
        handler?(self)
    }
}
