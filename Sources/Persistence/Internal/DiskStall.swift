/// A count of jobs that were given up and have not come back from the disk. Pure.
struct DiskStall: Sendable {
    /// Threads that can be held at the same time.
    let threads: Int
    private var overdue = 0

    init(threads: Int) { self.threads = threads }

    /// With every thread held by a job that was given up, the next one could only wait for nothing.
    var admits: Bool { overdue < threads }

    /// Nobody waits for a job any more.
    mutating func giveUp() { overdue += 1 }

    /// It is over. On another thread this may come a moment before the word that it was given up.
    mutating func comeBack() { overdue -= 1 }
}
