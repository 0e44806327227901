import CLoopServer
import Foundation
import Glibc
import Persistence
import ScopedNet

// What a cache costs a request that it does not answer, and what it saves one that it does.
//
//     swift run -c release cache-bench [ROUNDS] [ONE OF THE NAMES BELOW]
//
// Each round measures every case; medians of all. The server is a process of its own on the loopback interface.

let rounds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 5
let port = loop_server_start(1024)
guard port > 0 else { fail("no server") }
let base = FileManager.default.temporaryDirectory.path + "/cache-bench-\(getpid())"
mkdir(base, 0o700)
defer { try? FileManager.default.removeItem(atPath: base) }

let bench = RequestBench(url: "http://127.0.0.1:\(port)", folder: base)
if let name = CommandLine.arguments.dropFirst(2).first, let only = RequestBench.Case(rawValue: name) {
    // For perf and callgrind: one thing alone.
    let cost = await bench.measure(only, inFlight: 1, count: 5_000 * rounds, round: 0)
    print("\(name): \(cost)")
    exit(0)
}
print("Microseconds for each request, medians of \(rounds) rounds; in brackets: divided by the same without a cache.")
for inFlight in [1, 64] { await bench.run(rounds: rounds, inFlight: inFlight) }
await DiskHits(folder: base + "/lookups").run(rounds: rounds)
