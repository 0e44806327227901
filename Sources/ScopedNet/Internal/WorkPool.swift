import Dispatch
import Glibc
import SystemSupport

/// The threads on which bodies are decoded and validated, no more than there are cores.
///
/// Nothing that waits is done here: what may block, on a disk above all, goes to the ``BlockingPool``.
package final class WorkPool: Sendable {
    package typealias Job = @Sendable () -> Void

    package static let shared = WorkPool(width: max(2, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))

    private struct State {
        var jobs = JobQueue<Job>()
        var workers = 0
    }

    private let width: Int
    private let state = Lock(State())

    package init(width: Int) { self.width = width }

    package func submit(_ jobs: [Job]) {
        let fresh = state.withLock { state in
            for job in jobs { state.jobs.append(job) }
            let fresh = min(width - state.workers, jobs.count)
            state.workers += fresh
            return fresh
        }
        for _ in 0..<fresh { DispatchQueue.global().async { self.work() } }
    }

    private func work() {
        while let job = next() { job() }
    }

    private func next() -> Job? {
        state.withLock { state in
            if let job = state.jobs.popFirst() { return job }
            state.workers -= 1
            return nil
        }
    }

    /// Places that memory is held for; tests use it to show the bound.
    package var capacity: Int { state.withLock { $0.jobs.capacity } }
}
