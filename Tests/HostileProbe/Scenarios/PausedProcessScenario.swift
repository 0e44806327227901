import Foundation
import Glibc
import ScopedNet
import TestProcesses

/// The whole process stands still for seconds (SIGSTOP, SIGCONT), as in a debugger, a frozen cgroup or a suspended virtual machine, and finds
/// answers and ends of connections in its sockets when it goes on.
enum PausedProcessScenario {
    static func play(on stage: Stage) async throws {
        let pause = Duration.seconds(5)
        for round in 0..<stage.rounds(1, thorough: 6) {
            let session = stage.session
            // Data comes all the while, and fills the socket; its clock must not count what nobody could read.
            let dripping = (0..<4).map { number in
                let file = URL(fileURLWithPath: stage.path("drip-\(round)-\(number)"))
                let request = session.download(stage.url + "/drip", to: file).options { $0.timeouts.idle = .seconds(2) }
                return (stage.start("a download that drips", request), file.path)
            }
            for (run, _) in dripping { await run.hasHead() }
            let late = stage.start(
                "an answer in the middle", session.request(stage.url + "/late").options { $0.timeouts.firstByte = .seconds(3) })
            let never = stage.start("one with a clock", session.request(stage.url + "/never").options { $0.timeouts.total = .seconds(2) })
            let cancelled = stage.start("one that is cancelled", session.request(stage.url + "/never"))
            let waiting = stage.start(
                "a second try",
                session.request(stage.url + "/retry?\(round)").options {
                    $0.retry = RetryPolicy(maxAttempts: 2, backoffBase: .seconds(1), backoffCap: .seconds(1))
                })
            let stopped = try await stop(for: pause)
            stage.excuse(stopped)
            let woken = ContinuousClock.now
            cancelled.cancel()
            await stage.expectFailure([.totalTimeout], of: never, within: .seconds(2))
            stage.expect(await stage.end(of: cancelled, within: .seconds(2))?.isCancelled == true, "\(cancelled.name) was not")
            await stage.expectSuccess(of: late, within: .seconds(2))
            await stage.expectSuccess(of: waiting, within: .seconds(4))
            stage.noteMost("clocks and cancels after it", woken.duration(to: .now))
            for (run, path) in dripping {
                await stage.expectSuccess(of: run)
                let size = (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
                stage.expect(size == ProbeRoutes.dripBytes, "\(run.name): \(size) bytes")
            }
            stage.note("stood still ms", Int((stopped.lowerBound.duration(to: stopped.upperBound)) / .milliseconds(1)))
        }
    }

    /// - Returns: when it stood still, with a little at both ends.
    private static func stop(for pause: Duration) async throws -> ClosedRange<ContinuousClock.Instant> {
        let began = ContinuousClock.now
        let seconds = Int(pause / .seconds(1))
        let script = "kill -STOP \(getpid()); sleep \(seconds); kill -CONT \(getpid())"
        let result = await (try ProgramRun(["sh", "-c", script])).result()
        guard result.status == 0 else { throw Trouble("kill \(result.errors)", 0) }
        return began...(.now + .milliseconds(50))
    }
}
