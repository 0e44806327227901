import BenchKit
import CMeasure
import Glibc
import ScopedNet

/// The owner of many live requests goes away: how long its own thread is held up, and when the last of them is gone.
enum BagDeath {
    static func run(_ options: Options) {
        bench_raise_descriptor_limit()
        let session = ScopedNetClient(options: options).session
        var bag: DeallocBag? = DeallocBag()
        if let bag { start(options.requests, of: options.url, session, in: bag) }
        usleep(300_000)  // the first of them are on the wire by then
        guard bag?.count == options.requests else { fail("\(bag?.count ?? 0) live requests instead of \(options.requests)") }

        let begin = bench_window_begin()
        bag = nil
        let owner = bench_clock_us()
        while isAnyAlive { usleep(50) }
        let end = bench_look()
        bench_report(
            options.requests, begin, end,
            "\"owner_us\": \(owner - begin.wall_us), \"torn_down_us\": \(end.wall_us - begin.wall_us)")
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
