import BenchKit
import CMeasure
import Glibc
@_spi(Census) import ScopedNet

/// The owner of many live requests goes away: how long its own thread is held up, and when the last of them is gone.
enum BagDeath {
    static func run(_ options: Options) {
        bench_raise_descriptor_limit()
        let session = ScopedNetClient(options: options).session
        // The first large one of a process also pays for the threads that clear up; it is reported apart.
        let first = measure(2_000, of: options.url, session)
        let death = measure(options.requests, of: options.url, session)
        bench_report(
            options.requests, death.begin, death.end,
            """
            "owner_us": \(death.ownerCPU), "owner_wall_us": \(death.ownerWall), \
            "owner_first_us": \(first.ownerCPU), \
            "torn_down_us": \(death.end.wall_us - death.begin.wall_us)
            """)
    }

    private struct Death {
        let begin: bench_sample
        let end: bench_sample
        /// What the owner's thread did itself.
        let ownerCPU: Double
        /// The same by the clock: a thread it wakes may take its core first.
        let ownerWall: Double
    }

    private static func measure(_ count: Int, of url: String, _ session: Session) -> Death {
        var bag: DeallocBag? = DeallocBag()
        if let bag { start(count, of: url, session, in: bag) }
        usleep(300_000)  // the first of them are on the wire by then
        guard bag?.count == count else { fail("\(bag?.count ?? 0) live requests instead of \(count)") }

        let begin = bench_window_begin()
        let cpuBefore = bench_thread_cpu_us()
        bag = nil
        let cpuAfter = bench_thread_cpu_us()
        let wallAfter = bench_clock_us()
        while isAnyAlive { usleep(50) }
        return Death(
            begin: begin, end: bench_look(), ownerCPU: cpuAfter - cpuBefore, ownerWall: wallAfter - begin.wall_us)
    }

    private static func start(_ count: Int, of url: String, _ session: Session, in bag: DeallocBag) {
        for _ in 0..<count {
            session.request(url)
                .onSuccess { _ in fail("a request succeeded that was to be cancelled") }
                .onFailure { fail("a cancelled request failed: \($0)") }
                .start(in: bag)
        }
    }

    private static var isAnyAlive: Bool {
        let alive = LiveObjects.snapshot()
        return alive[.run] + alive[.transfer] + alive[.request] > 0
    }
}
