extension ReachabilityMonitor {
    /// The settings of a monitor, and of those that share its thread.
    public struct Configuration: Sendable {
        /// Whose network is watched.
        public var namespace = NetworkNamespace.current
        /// Addresses that stand for "anywhere" when the default path is looked up; nothing is sent to them.
        public var referenceAddresses = Self.standardReferences
        /// How long the path must have been good again before that is told. A loss is always told at once.
        public var gainDelay: Duration = .zero
        /// How long after a publication further changes are gathered into one. Later changes do not prolong it.
        public var burstWindow: Duration = .milliseconds(20)
        /// How often to look where netlink is refused; not more often than every 10 ms.
        public var pollingInterval: Duration = .milliseconds(500)
        /// Paths over interfaces of these kinds do not count.
        public var excludedKinds: Set<NetworkInterface.Kind> = []
        /// The name of the one interface that counts.
        public var requiredInterface: String?
        /// The source of a path's cost. Default: a guess by the kind of interface.
        public var meteredHint: any MeteredHint = InterfaceKindHint()
        /// The resolver of host targets. Default: getaddrinfo(3). Called on a thread of its own.
        public var resolver: any NameResolver = SystemNameResolver()
        /// The file of name servers that is watched, resolv.conf(5). Default: `/etc/resolv.conf`.
        public var resolverFile = "/etc/resolv.conf"
        /// Off unless given one. Each monitor of this configuration that is started probes for itself; those a session of ScopedNet makes for
        /// its own targets do not.
        public var probe: ReachabilityProbe?

        /// For tests: how much the kernel keeps for a thread that is busy.
        var receiveBuffer: Int32 = 1 << 20
        /// For tests: how long the looks of a storm wait for each other.
        var lookWindow: Duration = .milliseconds(20)

        /// Makes the default configuration: the present namespace, losses and gains told at once.
        public init() {}

        /// Root name servers: part of no content network, and no company's.
        public static let standardReferences: [IPAddress] = EvaluationSettings.standardReferences

        func evaluationSettings(nameServers: [IPAddress]) -> EvaluationSettings {
            EvaluationSettings(
                references: referenceAddresses, nameServers: nameServers, excludedKinds: excludedKinds, requiredInterface: requiredInterface
            )
        }
    }

    /// Where the answers come from.
    public enum Backend: Sendable, Hashable {
        /// The kernel tells.
        case netlink
        /// Netlink is refused here (a sandbox, say): the network is looked at again and again.
        case polling(interval: Duration)
    }

    /// What a monitor's thread has done since it began, for all the monitors that share it.
    public struct Statistics: Sendable, Hashable {
        /// Messages of the kernel.
        public internal(set) var events: UInt64 = 0
        /// Those of them that were about routes.
        public internal(set) var routeEvents: UInt64 = 0
        /// The times that the kernel had to drop messages: of links and addresses, whose tables were then read afresh, or of routes, which are but
        /// a reason to look again.
        public internal(set) var overruns: UInt64 = 0
        /// The times that the tables of links and addresses were read afresh.
        public internal(set) var resyncs: UInt64 = 0
        /// The times that the kernel was asked for paths.
        public internal(set) var evaluations: UInt64 = 0
        /// Times the thread woke up.
        public internal(set) var wakeUps: UInt64 = 0
        /// Times the machine slept.
        public internal(set) var resumes: UInt64 = 0
    }
}
