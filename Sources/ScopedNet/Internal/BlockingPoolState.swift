/// The decisions of a ``BlockingPool``: which job is next, and when there is to be another thread.
/// (pure)
///
/// Each group of jobs gets a share of the threads at most, and groups take turns: a disk that hangs
/// keeps no other one's jobs waiting.
struct BlockingPoolState<Group: Hashable, Job> {
    private struct Queue {
        var jobs = JobQueue<Job>()
        var running = 0
        /// Of its jobs, those that have a place in `ready`.
        var offered = 0
    }

    enum Submission: Equatable {
        /// Threads enough are at work or have been woken.
        case none
        case wake
        case start
    }

    let width: Int
    let share: Int
    private var queues: [Group: Queue] = [:]
    /// A place for each job that a thread may take now.
    private var ready = JobQueue<Group>()
    /// Threads that exist, and those of them that wait for a job.
    private(set) var threads = 0
    private(set) var idle = 0

    init(width: Int, share: Int) {
        self.width = max(1, width)
        self.share = max(1, min(share, width))
    }

    var hasReadyJob: Bool { !ready.isEmpty }
    var waitingJobs: Int { queues.values.reduce(0) { $0 + $1.jobs.count } }

    mutating func submit(_ job: Job, of group: Group) -> Submission {
        queues[group, default: Queue()].jobs.append(job)
        guard offer(group) else { return .none }
        if idle >= ready.count { return .wake }
        guard threads < width else { return .none }
        threads += 1
        return .start
    }

    /// - Returns: nil when nothing may be begun.
    mutating func take() -> (job: Job, group: Group)? {
        guard let group = ready.popFirst(), let job = queues[group]?.jobs.popFirst() else { return nil }
        queues[group]?.offered -= 1
        queues[group]?.running += 1
        return (job, group)
    }

    mutating func finished(_ group: Group) {
        queues[group]?.running -= 1
        _ = offer(group)
        if let queue = queues[group], queue.running == 0, queue.jobs.isEmpty { queues[group] = nil }
    }

    mutating func becameIdle() { idle += 1 }
    mutating func wokeUp() { idle -= 1 }

    /// Of a thread with nothing to do, or one that could not be made.
    mutating func left() { threads -= 1 }

    private mutating func offer(_ group: Group) -> Bool {
        guard let queue = queues[group], queue.offered < queue.jobs.count, queue.running + queue.offered < share else { return false }
        queues[group]?.offered += 1
        ready.append(group)
        return true
    }
}
