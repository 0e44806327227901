import SystemSupport

extension ReachabilityMonitor {
    /// Keeps a closure subscribed, and its monitor alive. Dropping it cancels it.
    public final class Subscription: Sendable {
        private struct State {
            var monitor: ReachabilityMonitor?
            var id: UInt64?
        }

        private let member: Member
        private let state: Lock<State>

        init(_ monitor: ReachabilityMonitor, _ member: Member) {
            self.member = member
            state = Lock(State(monitor: monitor))
        }

        deinit { cancel() }

        func begin(_ handler: @escaping @Sendable (NetworkPath, NetworkPath.Delta) -> Void) {
            let id = member.insert(handler)
            state.withLock { $0.id = id }
        }

        var isAdmitted: Bool { state.withLock { $0.id }.map(member.admits) ?? false }

        /// Nothing is called from now on; a call that was already admitted may still be running. Idempotent, from any thread, without blocking.
        public func cancel() {
            let old = state.withLock { state in
                defer { state = State() }
                return state
            }
            if let id = old.id { member.remove(id) }
        }
    }
}
