import Foundation
import Persistence

/// Hits that memory answers: without a wait, and by `lookup`, the only way in shared mode, where another process may have changed the key.
struct MemoryHits {
    let folder: String

    func run(rounds: Int) async {
        print("memory hits, 1,000 keys, 4 KiB")
        for mode in [StoreConfiguration.Mode.private, .shared] {
            let store = Store(StoreConfiguration(directory: "\(folder)-\(mode)", mode: mode))
            await store.opened()
            let keys = (0..<1000).map { EntryKey(key($0), partition: "account") }
            for key in keys {
                let ticket = await store.lookup(key).ticket
                store.put(NewStoreEntry(key: key, metadata: Data(count: 500), body: .data(Data(count: 4096))), ticket: ticket)
            }
            try? await store.flush()
            for key in keys { _ = await store.lookup(key) }
            if mode == .private {
                await measure("\(mode), cached", rounds) { store.cached(keys[$0])?.entries.count }
            }
            await measure("\(mode), lookup", rounds) { await store.lookup(keys[$0]).entries.count }
            await store.close()
        }
        print("")
    }

    private func measure(_ name: String, _ rounds: Int, _ hit: (Int) async -> Int?) async {
        var times: [Double] = []
        for _ in 0..<rounds {
            times.append(
                await microseconds(100_000) {
                    var found = 0
                    for index in 0..<100_000 { found += await hit(index * 7919 % 1000) ?? 0 }
                    if found != 100_000 { fail("\(found) hits") }
                })
        }
        row(name, median(times))
    }
}
