import Synchronization
import SystemSupport

/// The agents whose runs use one transport, and the end of taking new runs.
final class TransportUsers: Sendable {
    private struct WeakAgent: Sendable {
        weak let agent: RequestAgent?
    }

    private let agents = Lock<[ObjectIdentifier: WeakAgent]>([:])
    private let isClosed = Atomic<Bool>(false)

    /// False for a new run after ``close()``, unless a running one needs it.
    ///
    /// Asked when the run is in its agent: either it is refused here, or the shutdown finds it there.
    var acceptsRun: Bool { !isClosed.load(ordering: .sequentiallyConsistent) || RunningRequest.isServed }

    func close() { isClosed.store(true, ordering: .sequentiallyConsistent) }

    /// Called for each session that uses the transport. An agent without sessions and runs is not kept.
    func add(_ agent: RequestAgent) {
        agents.withLock { agents in
            guard agents[ObjectIdentifier(agent)]?.agent == nil else { return }
            agents = agents.filter { $0.value.agent != nil }
            agents[ObjectIdentifier(agent)] = WeakAgent(agent: agent)
        }
    }

    /// The runs that use the transport, in all agents.
    func runs(on link: TransportLink) -> [AgentEntry] {
        let agents = agents.withLock { $0.values.compactMap(\.agent) }
        return agents.flatMap { $0.liveEntries() }.filter { $0.uses(link) }
    }
}
