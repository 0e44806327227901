import Dispatch
import Foundation
import GLibMainLoop
import Glibc
import Synchronization

/// The figures of the bridge.
@MainActor
enum Figures {
    private nonisolated static let hops = Mutex<[Duration]>([])

    /// Wake-ups of the main thread in two seconds without work, one of them by the timer that ends them.
    static func idle() throws {
        try MainQueueBridge.install()
        let loop = Loop()
        Task { loop.quit() }
        loop.run()
        let before = mainThreadUsage()
        Loop.after(milliseconds: 2000) { loop.quit() }
        loop.run()
        let after = mainThreadUsage()
        print("idle-wakeups \(after.wakeups - before.wakeups)")
        print("idle-microseconds \(after.microseconds - before.microseconds)")
    }

    /// The time from a block of a global queue to one of the main queue that it sends there, one after the other.
    static func hop() throws {
        try MainQueueBridge.install()
        let loop = Loop()
        DispatchQueue.global().async {
            let arrived = DispatchSemaphore(value: 0)
            for _ in 0..<2_000 {
                // Long enough for the main thread to be asleep again.
                usleep(50)
                let start = ContinuousClock.now
                DispatchQueue.main.async {
                    let end = ContinuousClock.now
                    hops.withLock { $0.append(end - start) }
                    arrived.signal()
                }
                arrived.wait()
            }
            DispatchQueue.main.async { MainActor.assumeIsolated { loop.quit() } }
        }
        loop.run()
        let sorted = hops.withLock { $0.sorted() }
        for (name, index) in [("p50", sorted.count / 2), ("p99", sorted.count * 99 / 100), ("max", sorted.count - 1)] {
            print("hop-\(name)-microseconds \((sorted[index] / .microseconds(1)).formatted(.number.precision(.fractionLength(1))))")
        }
    }

    private static func mainThreadUsage() -> (wakeups: Int, microseconds: Int) {
        var usage = rusage()
        getrusage(__rusage_who_t(1), &usage)  // RUSAGE_THREAD
        let seconds = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec
        return (usage.ru_nvcsw, seconds * 1_000_000 + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
    }
}
