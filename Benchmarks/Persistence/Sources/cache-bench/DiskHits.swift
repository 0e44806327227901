import Foundation
import Glibc
import Persistence

/// Lookups that only the disk can answer, through the asynchronous door.
struct DiskHits {
    let folder: String
    private static let keys = 1_000

    func run(rounds: Int) async {
        print("\nlookups of 4 KiB on disk, CPU microseconds each")
        var configuration = StoreConfiguration(directory: folder)
        configuration.limits.memoryBytes = 0
        let store = Store(configuration)
        await store.opened()
        for index in 0..<Self.keys {
            store.put(NewStoreEntry(key: Self.key(index), metadata: Data(count: 500), body: .data(Data(count: 4096))))
        }
        try? await store.flush()
        for inFlight in [1, 64] {
            var costs: [Double] = []
            for _ in 0..<rounds { costs.append(await measure(store, inFlight)) }
            print(String(format: "  %2d at once %8.1f", inFlight, median(costs)))
        }
        await store.close()
    }

    private func measure(_ store: Store, _ inFlight: Int) async -> Double {
        let count = 20_000
        let start = Self.cpu
        await withTaskGroup(of: Void.self) { group in
            for lane in 0..<inFlight {
                group.addTask {
                    for index in stride(from: lane, to: count, by: inFlight) {
                        let found = await store.lookup(Self.key(index * 7919 % Self.keys))
                        guard found.entries.first?.body.length == 4096 else { fail("a lookup found nothing") }
                    }
                }
            }
        }
        return (Self.cpu - start) / Double(count)
    }

    private static func key(_ index: Int) -> EntryKey { EntryKey("https://example.test/resource/\(index)?q=abc", partition: "account") }

    private static var cpu: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }
}
