import CNetlink
import Glibc
import SystemSupport

/// One life of a monitor's thread, seen from outside: from the first start to the last stop.
final class MonitorRun: Sendable {
    struct Wake: OptionSet {
        let rawValue: UInt8
        static let stop = Wake(rawValue: 1)
        /// Somebody is to be told something.
        static let deliver = Wake(rawValue: 2)
        static let evaluate = Wake(rawValue: 4)
        /// The needs of the members have changed: look at the route filter.
        static let filter = Wake(rawValue: 8)
        /// Read everything afresh, and resolve names again.
        static let refresh = Wake(rawValue: 16)
    }

    private struct Mailbox {
        var wake: Wake = []
        var members: [Member] = []
        var nameServers: [IPAddress] = []
        var statistics = ReachabilityMonitor.Statistics()
    }

    let configuration: ReachabilityMonitor.Configuration
    let kernel: any Kernel
    let backend: ReachabilityMonitor.Backend
    let namespace: HeldNamespace
    let resolver: ResolverThreads
    let wakeDescriptor: Int32
    /// Open when the thread will call nobody any more.
    let ended = CountdownLatch()
    private let mailbox = Lock(Mailbox())

    init(
        configuration: ReachabilityMonitor.Configuration, kernel: any Kernel, backend: ReachabilityMonitor.Backend,
        namespace: HeldNamespace
    ) throws(SystemFailure) {
        self.configuration = configuration
        self.kernel = kernel
        self.backend = backend
        self.namespace = namespace
        resolver = ResolverThreads(resolver: configuration.resolver, namespace: namespace)
        wakeDescriptor = eventfd(0, CNL_EVENTFD_FLAGS)
        guard wakeDescriptor >= 0 else { throw SystemFailure("eventfd") }
    }

    deinit { if wakeDescriptor >= 0 { close(wakeDescriptor) } }

    var members: [Member] { mailbox.withLock { $0.members } }
    var nameServers: [IPAddress] { mailbox.withLock { $0.nameServers } }
    var statistics: ReachabilityMonitor.Statistics { mailbox.withLock { $0.statistics } }

    func count(_ body: (inout ReachabilityMonitor.Statistics) -> Void) { mailbox.withLock { body(&$0.statistics) } }

    /// Whatever else happens to routes changes nobody's answer.
    var routeInterests: RouteInterests {
        let (members, nameServers) = mailbox.withLock { ($0.members, $0.nameServers) }
        return RouteInterests([configuration.referenceAddresses, nameServers].joined() + members.lazy.flatMap(\.addresses))
    }

    func setNameServers(_ servers: [IPAddress]) -> Bool {
        mailbox.withLock { mailbox in
            defer { mailbox.nameServers = servers }
            return mailbox.nameServers != servers
        }
    }

    func insert(_ member: Member) { mailbox.withLock { $0.members.append(member) } }

    /// - Returns: whether nobody is left.
    func remove(_ member: Member) -> Bool {
        let (removed, isEmpty) = mailbox.withLock { mailbox -> (Member?, Bool) in
            let index = mailbox.members.firstIndex { $0 === member }
            let removed = index.map { mailbox.members.remove(at: $0) }
            return (removed, mailbox.members.isEmpty)
        }
        _ = removed
        return isEmpty
    }

    func wake(_ wake: Wake) {
        let isAsleep = mailbox.withLock { mailbox in
            defer { mailbox.wake.formUnion(wake) }
            return mailbox.wake.isEmpty
        }
        guard isAsleep else { return }
        var one: UInt64 = 1
        while write(wakeDescriptor, &one, 8) < 0, errno == EINTR {}
    }

    func takeWake() -> Wake {
        var count: UInt64 = 0
        _ = read(wakeDescriptor, &count, 8)
        return mailbox.withLock { mailbox in
            defer { mailbox.wake = [] }
            return mailbox.wake
        }
    }

    // MARK: Evaluating, on any thread

    func evaluate(_ question: PathQuestion) -> (PathEvaluator.Outcome, ticket: UInt64) {
        var (outcome, ticket) = kernel.evaluate(question, settings: configuration.evaluationSettings(nameServers: nameServers))
        outcome.path.metered = configuration.meteredHint.metered(over: outcome.path.interfaces)
        outcome.path.isConstrained = configuration.meteredHint.isConstrained(over: outcome.path.interfaces)
        return (outcome, ticket)
    }

    @discardableResult
    func evaluate(_ member: Member) -> Member.Commit {
        while true {
            let question = member.question
            let (outcome, ticket) = evaluate(question)
            let now = Monotonic.now()
            let commit = member.commit(outcome, about: question.resolved, ticket: ticket, of: ObjectIdentifier(self), now: now)
            if commit != .outdated { return commit }
        }
    }

    // MARK: Names

    /// A member that was stopped meanwhile, or started again with another run, is not this one's to resolve for.
    func resolve(_ member: Member) {
        guard case .host(let name) = member.target.subject else { return }
        let life = member.state.withLock { state in
            state.belongs(to: ObjectIdentifier(self)) && state.resolution.want() ? state.life : nil
        }
        if let life { startResolving(name, member, life) }
    }

    /// Starts to resolve a name. `life` is that in which the answer was asked for: to the next one it would be older than the reason to
    /// ask.
    private func startResolving(_ name: String, _ member: Member, _ life: UInt64) {
        // RFC 6761: always this machine.
        if name.lowercased() == "localhost" {
            finishResolving(name, member, life, ["127.0.0.1", "::1"].compactMap { IPAddress($0) })
            return
        }
        resolver.resolve(name) { [weak self, weak member] answer in
            guard let self, let member else { return }
            self.finishResolving(name, member, life, answer)
            self.wake(.evaluate)
        }
    }

    private func finishResolving(_ name: String, _ member: Member, _ life: UInt64, _ answer: [IPAddress]?) {
        let again = member.state.withLock { state in
            state.belongs(to: ObjectIdentifier(self)) && state.life == life && state.resolution.finish(answer, now: Monotonic.now())
        }
        if again { startResolving(name, member, life) }
    }
}
