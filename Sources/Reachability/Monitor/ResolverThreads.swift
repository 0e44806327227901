import SystemSupport

/// Resolves names on up to four threads that go away when there is nothing to do.
final class ResolverThreads: Sendable {
    private struct Job {
        let host: String
        let done: @Sendable ([IPAddress]?) -> Void
    }

    private struct State {
        var jobs: [Job] = []
        var threads = 0
        var isStopped = false
    }

    private let state = Lock(State())
    private let resolver: any NameResolver
    private let namespace: HeldNamespace

    init(resolver: any NameResolver, namespace: HeldNamespace) {
        self.resolver = resolver
        self.namespace = namespace
    }

    private enum Admission { case refused, queued, needsThread }

    /// Calls back once: with nil where the name cannot be resolved, no thread is to be had, or this has been stopped.
    func resolve(_ host: String, then done: @escaping @Sendable ([IPAddress]?) -> Void) {
        let admission = state.withLock { state -> Admission in
            guard !state.isStopped else { return .refused }
            state.jobs.append(Job(host: host, done: done))
            guard state.threads < 4 else { return .queued }
            state.threads += 1
            return .needsThread
        }
        switch admission {
        case .refused: done(nil)
        case .queued: break
        case .needsThread: addThread()
        }
    }

    private func addThread() {
        do throws(SystemFailure) {
            try SystemThread.start(name: Engine.threadName) { [self] in work() }
        } catch {
            // No thread to be had: the name stays unresolved, and is tried again later.
            let jobs = state.withLock { state in
                state.threads -= 1
                defer { if state.threads == 0 { state.jobs = [] } }
                return state.threads == 0 ? state.jobs : []
            }
            for job in jobs { job.done(nil) }
        }
    }

    /// Gives up what waits; what is under way is answered when it is done, as the system's resolver cannot be interrupted.
    func stop() {
        let jobs = state.withLock { state in
            state.isStopped = true
            defer { state.jobs = [] }
            return state.jobs
        }
        for job in jobs { job.done(nil) }
    }

    private func work() {
        // Another network's answer would be worse than none.
        let isInside = (try? namespace.enter()) != nil
        while let job = next() { job.done(isInside ? resolver.addresses(of: job.host) : nil) }
    }

    private func next() -> Job? {
        state.withLock { state in
            guard !state.jobs.isEmpty else {
                state.threads -= 1
                return nil
            }
            return state.jobs.removeFirst()
        }
    }
}
