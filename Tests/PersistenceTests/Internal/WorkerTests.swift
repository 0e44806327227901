import CleanSlate
import Dispatch
import SystemSupport
import Testing

@testable import Persistence

/// The threads of a store: with jobs, with a deadline, and where the process can have no further thread.
@Suite(.leavesNothing, .timeLimit(.minutes(5))) struct WorkerTests {
    /// A process that may have threads now and then.
    private final class Threads: Sendable {
        private let areThere = Lock(false)
        func allow() { areThere.withLock { $0 = true } }
        var make: SystemThread.Make {
            { [self] name, body in areThere.withLock { $0 } && SystemThread.make(name, body) }
        }
    }

    @Test func aDeadlineThatNoThreadCouldBeMadeForIsNotNoted() async {
        let threads = Threads()
        let worker = Worker(name: "test-worker", makeThread: threads.make)
        worker.schedule(at: .zero) { Issue.record("nobody could wait for this one") }
        #expect(!worker.enqueue {})
        threads.allow()
        await withCheckedContinuation { continuation in
            // Later than the first, which would stay the one that counts.
            worker.schedule(at: Monotonic.now() + .milliseconds(1)) { continuation.resume() }
        }
        worker.end()
    }
}
