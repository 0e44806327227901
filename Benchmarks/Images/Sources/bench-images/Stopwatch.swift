import CMeasure
import CPlainImages
import Foundation

/// Times in microseconds. On a machine that others use as well, processor time is steadier than the clock on the wall.
enum Stopwatch {
    /// Processor time of this thread.
    static func thread(_ body: () throws -> Void) rethrows -> Double { try measure(CLOCK_THREAD_CPUTIME_ID, body) }

    static func wall(_ body: () throws -> Void) rethrows -> Double { try measure(CLOCK_MONOTONIC, body) }

    static var now: Double { time(CLOCK_MONOTONIC) }
    /// Processor time of all threads of this process.
    static var process: Double { time(CLOCK_PROCESS_CPUTIME_ID) }

    private static func measure(_ clock: clockid_t, _ body: () throws -> Void) rethrows -> Double {
        let start = time(clock)
        try body()
        return time(clock) - start
    }

    private static func time(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }
}

/// The growth of resident memory at its highest, in bytes.
func growth(_ body: () throws -> Void) rethrows -> Double {
    plain_trim()
    let begin = bench_window_begin()
    try body()
    return Double(max(0, bench_look().peak_kib - begin.rss_kib)) * 1_024
}

/// Samples of several cases, taken in turn: round by round each case once, so that a machine that is slow is slow for all.
struct Rounds {
    private(set) var samples: [[Double]]

    init(_ count: Int, _ cases: [() throws -> Double]) throws {
        samples = Array(repeating: [], count: cases.count)
        // Once for caches and code that is not loaded yet.
        for body in cases { _ = try body() }
        for _ in 0..<count { for (index, body) in cases.enumerated() { samples[index].append(try body()) } }
    }

    func least(_ index: Int) -> Double { samples[index].min() ?? .nan }
    func median(_ index: Int) -> Double { samples[index].median }

    /// The median of what one case took divided by what another took in the same round.
    func ratio(_ index: Int, to other: Int) -> Double { zip(samples[index], samples[other]).map { $0 / $1 }.median }

    /// The median of what one case took more than another in the same round.
    func difference(_ index: Int, to other: Int) -> Double { zip(samples[index], samples[other]).map { $0 - $1 }.median }
}

extension [Double] {
    var median: Double { isEmpty ? .nan : sorted()[count / 2] }
}
