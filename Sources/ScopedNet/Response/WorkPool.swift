import Dispatch
import Glibc

/// Where bodies are decoded and validated: never on the network thread, never on a delivery queue, and never on more threads
/// than there are cores.
package final class WorkPool: Sendable {
    package typealias Job = @Sendable () -> Void

    package static let shared = WorkPool(width: max(2, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))

    private struct State {
        var jobs: [Job] = []
        var next = 0
        var workers = 0
    }

    private let width: Int
    private let state = Lock(State())

    package init(width: Int) { self.width = width }

    package func submit(_ jobs: [Job]) {
        let fresh = state.withLock { state in
            state.jobs.append(contentsOf: jobs)
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
            guard state.next < state.jobs.count else {
                state.jobs.removeAll(keepingCapacity: state.jobs.capacity <= 1024)
                state.next = 0
                state.workers -= 1
                return nil
            }
            let job = state.jobs[state.next]
            state.jobs[state.next] = {}
            state.next += 1
            return job
        }
    }
}
