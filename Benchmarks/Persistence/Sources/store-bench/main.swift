import CBareStore
import Foundation
import Glibc
import Persistence

// Times a store beside a bare loop in C and beside a cache with a manifest, interleaved, and prints medians and ratios.
//
//     swift run -c release store-bench [ROUNDS]

let rounds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 5
let base = FileManager.default.temporaryDirectory.path + "/store-bench-\(getpid())"
mkdir(base, 0o700)
defer { try? FileManager.default.removeItem(atPath: base) }

// For callgrind: one thing alone.
switch CommandLine.arguments.dropFirst(2).first {
case "memory":
    await MemoryHits(folder: base + "/memory").run(rounds: rounds)
    exit(0)
case "disk":
    await DiskBench(folder: base + "/disk", size: 4 << 10).profile()
    exit(0)
default: break
}
print("Microseconds of CPU for each operation, medians of \(rounds) rounds; in brackets: divided by the bare loop.\n")
await MemoryHits(folder: base + "/memory").run(rounds: rounds)
for size in [4 << 10, 16 << 10, 64 << 10, 128 << 10, 256 << 10] {
    await DiskBench(folder: base + "/\(size)", size: size).run(rounds: rounds)
}
