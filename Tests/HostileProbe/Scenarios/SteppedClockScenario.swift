import CHostile
import Foundation
import Persistence
import ScopedNet

/// The wall clock is set while requests are under way: an hour forth and back, to 1970 and to the next centuries.
enum SteppedClockScenario {
    private static let hour: Int64 = 3600
    private static let year: Int64 = 31_557_600

    static func play(on stage: Stage) async throws {
        let before = Date.now
        hostile_step_wall_clock(hour)
        stage.expect(Date.now.timeIntervalSince(before) > 3500, "the clock cannot be moved here")
        hostile_step_wall_clock(-hour)
        let now = Int64(before.timeIntervalSince1970)
        // To the second minute of 1970, as machines without a battery begin; behind 2038 and 2106, where counters of 32 bits end.
        let steps = [hour, -2 * hour, 24 * hour, -now + 60, 20 * year, 100 * year]
        for round in 0..<stage.rounds(1, thorough: 10) {
            for (number, step) in steps.enumerated() {
                try await requests(stage, name: "\(round)-\(number)", across: step)
                hostile_step_wall_clock(-hostile_wall_clock_offset())
            }
        }
        stage.note("steps", steps.count * stage.rounds(1, thorough: 10))
        stage.expect(hostile_wall_clock_readings() > 0, "nobody read the clock")
    }

    private static func requests(_ stage: Stage, name: String, across step: Int64) async throws {
        let cache = ResponseCache(.init(directory: stage.path("cache-" + name)))
        let jar = CookieJar()
        let session = stage.session { ($0.cache, $0.cookies) = (cache, jar) }
        let url = stage.url + "/cacheable/" + name
        await stage.expectSuccess(of: stage.start("a response to store", session.request(url)))
        await stage.expectSuccess(of: stage.start("a response with a cookie", session.request(stage.url + "/cookie?\(name)")))
        let clock = Duration.milliseconds(600)
        // URLs of their own: where there is a cache, the same ones wait for each other.
        var clocked: [(TrackedRun, Set<NetworkError.Code>)] = []
        let firstByte = session.request(stage.url + "/never?first").options { $0.timeouts.firstByte = clock }
        let total = session.request(stage.url + "/never?total").options { $0.timeouts.total = clock }
        let idle = session.request(stage.url + "/stall").options { $0.timeouts.idle = clock }
        clocked.append((stage.start("a clock for the first byte", firstByte), [.firstByteTimeout]))
        clocked.append((stage.start("a clock for all of it", total), [.totalTimeout]))
        clocked.append((stage.start("a clock for silence", idle), [.idleTimeout]))
        // A retry takes a whole token of the host's budget, and a request that may be repeated puts a fifth of one in.
        for _ in 0..<6 {
            await stage.expectSuccess(of: stage.start("a quick request", session.request(stage.url + "/quick").retry(.standard)))
        }
        let retry = stage.start(
            "a second try",
            session.request(stage.url + "/retry?\(name)").options {
                $0.retry = RetryPolicy(maxAttempts: 2, backoffBase: .milliseconds(300), backoffCap: .milliseconds(300))
            })
        let drip = stage.start(
            "a response that drips", session.request(stage.url + "/short-drip").options { $0.timeouts.idle = .seconds(2) })
        hostile_step_wall_clock(step)
        for (run, codes) in clocked {
            await stage.expectFailure(codes, of: run)
            let excess = (run.duration ?? .zero) - clock
            stage.noteMost(run.name, excess)
            stage.expect(excess > .milliseconds(-2) && excess < .seconds(1), "\(run.name), step \(step): ended \(excess) from its time")
        }
        await stage.expectSuccess(of: retry, within: .seconds(2))
        await stage.expectSuccess(of: drip, within: .seconds(5))
        // It was to be good for a minute: after a step nobody knows its age, and the server is asked.
        let again = stage.start("the stored response", session.request(url))
        await stage.expectSuccess(of: again, within: .seconds(2))
        stage.expect(session.cacheStatistics?.hits == 0, "a response was taken for fresh across a step of \(step) s")
        do { try await cache.flush() } catch { stage.complain("step \(step): \(error)") }
    }
}
