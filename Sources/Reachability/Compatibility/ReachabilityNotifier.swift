/// Closures for "there is a network" and "there is none", as in the Reachability classes many projects carry with them.
public final class ReachabilityNotifier: Sendable {
    public enum Connection: Sendable, Hashable, CustomStringConvertible {
        case unavailable, wifi, cellular

        public var description: String {
            switch self {
            case .unavailable: "No Connection"
            case .wifi: "WiFi"
            case .cellular: "Cellular"
            }
        }
    }

    public typealias Handler = @Sendable (ReachabilityNotifier) -> Void

    private struct State {
        var whenReachable: Handler?
        var whenUnreachable: Handler?
    }

    private let manager: NetworkReachabilityManager
    private let state = Lock(State())

    public init(
        target: Target = .defaultPath, configuration: ReachabilityMonitor.Configuration = .init(),
        through hop: (@Sendable (@escaping @Sendable () -> Void) -> Void)? = nil
    ) {
        manager = NetworkReachabilityManager(target: target, configuration: configuration, through: hop)
        manager.setReachabilityStatusChange { [weak self] status in self?.tell(status) }
    }

    /// Nil where the text names no host.
    public convenience init?(hostname: String) {
        guard let target = Target(hostname) else { return nil }
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

    public var connection: Connection {
        switch manager.networkReachabilityStatus {
        case .reachableViaWiFi: .wifi
        case .reachableViaWWAN: .cellular
        case .unknown, .notReachable: .unavailable
        }
    }

    public func startNotifier() throws(ReachabilityError) {
        manager.startMonitoring()
        // Started already, unless there was a reason not to: then this says it.
        try manager.monitor.start()
    }

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
