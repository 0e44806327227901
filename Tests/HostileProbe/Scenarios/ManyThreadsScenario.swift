import Foundation
import Glibc
import ScopedNet

/// A host program with a thousand threads, each of which uses the session; and with all threads of Dispatch's global queue blocked.
enum ManyThreadsScenario {
    private static let count = 1_000

    static func play(on stage: Stage) async throws {
        for _ in 0..<stage.rounds(1, thorough: 10) { try await threads(stage) }
        try await blockedQueue(stage)
    }

    private static func threads(_ stage: Stage) async throws {
        let (ready, go, over) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let (session, url) = (stage.session, stage.url + "/quick")
        for number in 0..<count {
            let thread = Thread {
                ready.signal()
                go.wait()
                let run = use(stage, session, url, number)
                run.waitOnThisThread()
                over.signal()
            }
            thread.stackSize = 128 << 10
            thread.start()
        }
        await Stage.onThread { for _ in 0..<count { ready.wait() } }
        stage.note("threads", ProcessFigures.threads())
        let began = ContinuousClock.now
        for _ in 0..<count { go.signal() }
        let ended = await Stage.onThread { (0..<count).allSatisfy { _ in over.wait(timeout: .now() + 30) == .success } }
        stage.expect(ended, "of a thousand threads some wait in vain")
        stage.noteMost("a request of each", began.duration(to: .now))
    }

    /// What each thread does: a request, one that it cancels, one whose bag ends.
    private static func use(_ stage: Stage, _ session: Session, _ url: String, _ number: Int) -> TrackedRun {
        let bag = DeallocBag(label: "thread")
        let run = stage.start("one of a thousand threads", session.request(url), in: bag)
        switch number % 4 {
        case 0: run.cancel()
        case 1: bag.end()
        default: run.waitOnThisThread()
        }
        return run
    }

    /// Dispatch has few threads for its global queue, and adds one in a second where they block; clocks and tries must not stand in that line.
    ///
    /// All of it on a thread: tasks stand in the line, too.
    private static func blockedQueue(_ stage: Stage) async throws {
        let began = ContinuousClock.now
        let go = DispatchSemaphore(value: 0)
        let session = stage.session
        await Stage.onThread {
            let blocked = DispatchSemaphore(value: 0)
            for _ in 0..<64 {
                DispatchQueue.global().async {
                    blocked.signal()
                    go.wait()
                }
            }
            blocked.wait()
            let clocked = stage.start(
                "one with a clock", session.request(stage.url + "/never").options { $0.timeouts.total = .milliseconds(500) })
            let retry = stage.start(
                "a second try",
                session.request(stage.url + "/retry?blocked\(UUID())").options {
                    $0.retry = RetryPolicy(maxAttempts: 2, backoffBase: .milliseconds(200), backoffCap: .milliseconds(200))
                })
            let few = stage.session { $0.limits.perHost = 1 }
            let first = stage.start("the only connection", few.request(stage.url + "/late"))
            let queued = stage.start(
                "one with a clock for the queue", few.request(stage.url + "/quick").options { $0.timeouts.queue = .milliseconds(300) })
            for (run, limit) in [(queued, 1_300), (clocked, 1_500), (retry, 1_200), (first, 2_000)] {
                let left = Duration.milliseconds(limit) - run.began.duration(to: .now)
                stage.expect(run.waitOnThisThread(atMost: left), "\(run.name): no end after \(limit) ms beside a blocked global queue")
            }
            for _ in 0..<64 { go.signal() }
            stage.expect(queued.reason?.error?.code == .queueTimeout, "\(queued.name): \(String(describing: queued.reason))")
            stage.expect(clocked.reason?.error?.code == .totalTimeout, "\(clocked.name): \(String(describing: clocked.reason))")
            for run in [retry, first] { stage.expect(run.reason?.isSuccess ?? false, "\(run.name): \(String(describing: run.reason))") }
        }
        stage.excuse(began...(.now + .milliseconds(50)))
        stage.noteMost("with a blocked global queue", began.duration(to: .now))
    }
}
