/// The paths of a monitor, newest only: a slow consumer skips what is past.
public struct NetworkPaths: AsyncSequence, Sendable {
    /// A path; its ``NetworkPath/generation`` grows from one to the next.
    public typealias Element = NetworkPath
    /// The sequence never fails.
    public typealias Failure = Never

    let monitor: ReachabilityMonitor
    let member: Member

    /// An iteration. It begins with the path of the moment, if there is one.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let monitor: ReachabilityMonitor
        let member: Member
        private var generation: UInt64 = 0

        init(monitor: ReachabilityMonitor, member: Member) {
            self.monitor = monitor
            self.member = member
        }

        /// Nil when the task is cancelled.
        public mutating func next() async -> NetworkPath? { await advance() }

        /// Returns the next path; nil when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> NetworkPath? { await advance() }

        private mutating func advance() async -> NetworkPath? {
            guard let path = await member.path(after: generation) else { return nil }
            generation = path.generation
            return path
        }
    }

    /// Makes an iterator. Several are independent of each other.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(monitor: monitor, member: member) }
}

extension ReachabilityMonitor {
    func waitUntilSatisfied(timeout: Duration?, clock: some Clock<Duration>) async throws(ReachabilityError) -> NetworkPath {
        let outcome = await withTaskGroup(of: Result<NetworkPath, ReachabilityError>.self) { group in
            group.addTask {
                for await path in self.paths where path.isSatisfied { return .success(path) }
                return .failure(ReachabilityError(.cancelled, "the task was cancelled"))
            }
            if let timeout {
                group.addTask {
                    do { try await clock.sleep(for: timeout) } catch {
                        return .failure(ReachabilityError(.cancelled, "the task was cancelled"))
                    }
                    return .failure(ReachabilityError(.timedOut, "no path within \(timeout)"))
                }
            }
            defer { group.cancelAll() }
            return await group.next() ?? .failure(ReachabilityError(.cancelled, "the task was cancelled"))
        }
        return try outcome.get()
    }
}
