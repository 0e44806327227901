import Foundation

/// Microseconds of CPU, user and system, that the process took for each of `count` operations: on a machine that others use as well, wall
/// time measures the others.
func microseconds(_ count: Int, _ body: () async -> Void) async -> Double {
    let start = cpuTime()
    await body()
    return (cpuTime() - start) / Double(count)
}

private func cpuTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
}

func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
}

func row(_ name: String, _ value: Double, bare: Double? = nil) {
    let ratio = bare.map { String(format: " (%.2f)", value / $0) } ?? ""
    print("  \(name.padding(toLength: 44, withPad: " ", startingAt: 0))\(String(format: "%9.2f", value))\(ratio)")
}

func key(_ index: Int) -> String { "https://example.test/resource/\(index)?q=abc" }

func fail(_ message: String) -> Never {
    print("failed: \(message)")
    exit(1)
}
