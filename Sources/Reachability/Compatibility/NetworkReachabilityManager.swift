import SystemSupport

/// The names people know from AFNetworking and Alamofire, over a ``ReachabilityMonitor``.
///
/// What differs: the status is right as soon as `startMonitoring()` returns, and a status that has not changed is not told again. Callbacks
/// come on the monitor's thread, unless a `hop` carries them elsewhere.
public final class NetworkReachabilityManager: Sendable {
    /// The reachability of the target, with the numbers of `AFNetworkReachabilityStatus`.
    public enum Status: Int, Sendable, Hashable, CustomStringConvertible {
        /// Not started yet, or the name of the target is being resolved.
        case unknown = -1
        /// No route leads to the target.
        case notReachable = 0
        /// Reachable, and the preferred interface is a cellular one.
        case reachableViaWWAN = 1
        /// By anything but a cellular network: Ethernet too, as it always was.
        case reachableViaWiFi = 2

        /// Translates a path; nil, the path before the first start, is ``unknown``.
        public init(_ path: NetworkPath?) {
            switch path?.status {
            case nil, .unsatisfied(.resolving): self = .unknown
            case .unsatisfied, .requiresConnection: self = .notReachable
            case .satisfied: self = path?.interfaces.first?.kind == .cellular ? .reachableViaWWAN : .reachableViaWiFi
            }
        }

        /// The status in English, such as `Reachable via WiFi`.
        public var description: String {
            switch self {
            case .unknown: "Unknown"
            case .notReachable: "Not Reachable"
            case .reachableViaWWAN: "Reachable via WWAN"
            case .reachableViaWiFi: "Reachable via WiFi"
            }
        }
    }

    private struct State {
        var block: (@Sendable (Status) -> Void)?
        var subscription: ReachabilityMonitor.Subscription?
        var last: Status?
    }

    /// For what these names do not say.
    public let monitor: ReachabilityMonitor
    private let hop: (@Sendable (@escaping @Sendable () -> Void) -> Void)?
    private let state = Lock(State())

    /// One for the whole process, for the default path.
    public static let shared = NetworkReachabilityManager()

    /// Makes a manager that has not started yet.
    ///
    /// - Parameters:
    ///   - target: the default path, an address or a host.
    ///   - configuration: that of the ``monitor``.
    ///   - hop: carries each call of the closure to another thread or queue; nil, the default, for the monitor's thread.
    public init(
        target: NetworkPath.Target = .defaultPath, configuration: ReachabilityMonitor.Configuration = .init(),
        through hop: (@Sendable (@escaping @Sendable () -> Void) -> Void)? = nil
    ) {
        monitor = ReachabilityMonitor(target: target, configuration: configuration)
        self.hop = hop
    }

    /// Nil where the text names no host.
    public convenience init?(domain: String) {
        guard let target = NetworkPath.Target(domain) else { return nil }
        self.init(target: target)
    }

    /// Makes a manager for an address.
    public convenience init(address: IPAddress) { self.init(target: .address(address)) }

    /// The status as it was last told or is about to be; the last one after a stop.
    public var networkReachabilityStatus: Status { Status(monitor.currentPath) }
    /// True over any kind of interface.
    public var isReachable: Bool { isReachableViaWWAN || isReachableViaWiFi }
    /// True over a cellular interface.
    public var isReachableViaWWAN: Bool { networkReachabilityStatus == .reachableViaWWAN }
    /// True over any other interface.
    public var isReachableViaWiFi: Bool { networkReachabilityStatus == .reachableViaWiFi }
    /// The status in English; it is not translated.
    public var localizedNetworkReachabilityStatusString: String { networkReachabilityStatus.description }

    /// Replaces the closure that is called when the status has changed; nil for none. It is held strongly: capture owners weakly.
    public func setReachabilityStatusChange(_ block: (@Sendable (Status) -> Void)?) {
        let old = state.withLock { state in
            defer { state.block = block }
            return state.block
        }
        _ = old
    }

    /// Stays `unknown` where the process has no descriptor or thread left.
    public func startMonitoring() {
        stopMonitoring()
        let subscription = monitor.observe(through: hop) { [weak self] path, _ in self?.tell(Status(path)) }
        state.withLock { $0.subscription = subscription }
        try? monitor.start()
    }

    /// Stops; a call that was admitted before may still be running. Never blocks.
    public func stopMonitoring() {
        monitor.stop()
        let subscription = state.withLock { state in
            state.last = nil
            defer { state.subscription = nil }
            return state.subscription
        }
        subscription?.cancel()
    }

    private func tell(_ status: Status) {
        let block = state.withLock { state in
            defer { state.last = status }
            return state.last == status ? nil : state.block
        }
        block?(status)
    }

    /// As in Alamofire: false where it cannot start.
    @discardableResult
    public func startListening(onUpdatePerforming listener: @escaping @Sendable (Status) -> Void) -> Bool {
        setReachabilityStatusChange(listener)
        startMonitoring()
        return monitor.isStarted
    }

    /// Stops, and releases the closure.
    public func stopListening() {
        stopMonitoring()
        setReachabilityStatusChange(nil)
    }
}
