/// A run, as the agent sees it that retains it from its start to the end of its last call.
///
/// A class, as the links of the agent's list lie in it: to retain a run allocates nothing.
package class AgentEntry: ScopeMember, @unchecked Sendable {
    // Safety: `nextEntry` and `previousEntry` are guarded by the agent's shard; the rest is constant.
    package let id: UInt64
    /// The key under which it is the same as others; nil where each may run beside all others.
    package let repeatKey: RequestAgent.RepeatKey?
    final var nextEntry: Unmanaged<AgentEntry>?
    final var previousEntry: Unmanaged<AgentEntry>?

    init(id: UInt64, repeatKey: RequestAgent.RepeatKey?) {
        self.id = id
        self.repeatKey = repeatKey
        super.init()
    }

    override final var stepNumber: UInt64 { id }

    var repeatStrategy: RepeatStrategy { .allowAll }
    var tag: String? { nil }
    /// It has left its agent.
    package var isRetired: Bool { false }
    /// It is in the agent from here on.
    func didEnter() {}
    /// `link` is the transport of a session.
    func uses(_ link: AnyObject) -> Bool { false }
}
