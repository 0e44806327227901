import CHostile
import Foundation
import Glibc
import ScopedNet

/// fork(2) without exec while requests are under way. Children live on with every descriptor of the parent: with its sockets, and with its epoll
/// instance, in which what the parent has closed stays registered as long as a child has it open.
enum ForkScenario {
    static func play(on stage: Stage) async throws {
        for round in 0..<stage.rounds(2, thorough: 40) {
            let session = stage.session
            let bag = DeallocBag(label: "fork")
            let dripping = (0..<4).map { stage.start("a response that drips \($0)", session.request(stage.url + "/short-drip")) }
            let cancelled = (0..<4).map { stage.start("a cancelled one \($0)", session.request(stage.url + "/endless"), in: bag) }
            let clocked = stage.start(
                "one with a clock", session.request(stage.url + "/stall").options { $0.timeouts.total = .milliseconds(500) })
            for run in dripping + cancelled + [clocked] { await run.hasHead() }
            let children = try (0..<3).map { _ in try child() }
            // The server goes on sending into sockets that only the children have by now.
            bag.end()
            for run in cancelled {
                stage.expect(await stage.end(of: run)?.isCancelled == true, "\(run.name): \(String(describing: run.reason))")
            }
            await stage.expectFailure([.totalTimeout], of: clocked, within: .seconds(3))
            for run in dripping { await stage.expectSuccess(of: run) }
            for _ in 0..<10 { await stage.expectSuccess(of: stage.start("one after the fork", session.request(stage.url + "/quick"))) }
            let spent = await processorTime(of: .milliseconds(400))
            stage.noteMost("processor time of 400 ms", spent)
            stage.expect(spent < .milliseconds(200), "beside its children the process spends \(spent) in 400 ms")
            for process in children {
                stage.expect(status(of: process, killing: true) == SIGKILL, "a child ended by itself in round \(round)")
            }
        }
        // A child that uses what it has inherited, and ends in order.
        let process = hostile_fork()
        if process == 0 {
            stage.session.agent.cancelAll()
            exit(0)
        }
        stage.expect(status(of: process, killing: false) == 0, "a child that cancels and exits did not end")
    }

    private static func processorTime(of window: Duration) async -> Duration {
        let before = ProcessFigures.processorTime
        try? await Task.sleep(for: window)
        return ProcessFigures.processorTime - before
    }

    /// A child that does nothing but be there.
    private static func child() throws -> pid_t {
        let process = hostile_fork()
        if process == 0 { while true { pause() } }
        guard process > 0 else { throw Trouble("fork") }
        return process
    }

    /// The status of waitpid(2); -1 when it had to be killed for it.
    private static func status(of process: pid_t, killing: Bool) -> Int32 {
        if killing { kill(process, SIGKILL) }
        var status: Int32 = 0
        let end = ContinuousClock.now + .seconds(10)
        while true {
            let ended = waitpid(process, &status, WNOHANG)
            if ended == process { return status }
            guard ContinuousClock.now < end else { break }
            usleep(1_000)
        }
        kill(process, SIGKILL)
        waitpid(process, &status, 0)
        return -1
    }
}
