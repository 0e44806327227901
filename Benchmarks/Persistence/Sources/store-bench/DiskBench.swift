import CBareStore
import Foundation
import Persistence

/// Puts and disk hits of one size.
struct DiskBench {
    let folder: String
    let size: Int

    private var count: Int { max(400, min(4000, (48 << 20) / size)) }
    private var body: Data { Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }) }
    private let metadata = Data(count: 500)

    func run(rounds: Int) async {
        print("\(size >> 10) KiB, \(count) entries")
        var puts: [String: [Double]] = [:]
        var gets: [String: [Double]] = [:]
        for round in 0..<rounds {
            for (name, manifest, batch) in [
                ("bare, one a transaction", Int32(0), 1), ("bare, 512 a transaction", 0, 512), ("manifest", 1, 1),
            ] {
                let store = "\(folder)-\(round)-\(name.filter(\.isLetter))\(batch)"
                let (put, get) = await bare(store, manifest, batch)
                puts[name, default: []].append(put)
                gets[name, default: []].append(get)
            }
            for (name, writesThrough) in [("store", false), ("store, each awaited on disk", true)] {
                let (put, get) = await scoped("\(folder)-\(round)-\(writesThrough)", writesThrough)
                puts[name, default: []].append(put)
                gets[name, default: []].append(get)
            }
        }
        let names = ["bare, one a transaction", "bare, 512 a transaction", "manifest", "store", "store, each awaited on disk"]
        for name in names { row("put: \(name)", median(puts[name] ?? []), bare: median(puts[names[0]] ?? [])) }
        for name in names.dropLast() where name != names[1] {
            row("disk hit: \(name)", median(gets[name] ?? []), bare: median(gets[names[0]] ?? []))
        }
        print("")
    }

    func profile() async { _ = await scoped(folder, false) }

    private func bare(_ path: String, _ manifest: Int32, _ batch: Int) async -> (put: Double, get: Double) {
        guard let store = bare_open(path, manifest) else { fail("the bare store does not open") }
        defer {
            bare_close(store)
            try? FileManager.default.removeItem(atPath: path)
        }
        let body = body
        let put = await microseconds(count) {
            let code = body.withUnsafeBytes { bytes in
                metadata.withUnsafeBytes {
                    bare_put(store, 0, Int32(count), Int32(batch), $0.baseAddress, $0.count, bytes.baseAddress, bytes.count)
                }
            }
            if code != 0 { fail("put: \(code)") }
        }
        let get = await microseconds(count) {
            if bare_get(store, Int32(count), Int32(count)) != Int64(count * (size + metadata.count)) { fail("get") }
        }
        return (put, get)
    }

    private func scoped(_ path: String, _ awaited: Bool) async -> (put: Double, get: Double) {
        var configuration = StoreConfiguration(directory: path)
        configuration.limits.memoryBytes = 0
        configuration.limits.diskBytes = 1 << 30
        configuration.limits.pendingBytes = .max
        let store = Store(configuration)
        await store.opened()
        let body = body
        let keys = (0..<count).map { EntryKey(key($0), partition: "account") }
        let put = await microseconds(count) {
            for key in keys {
                do {
                    let writer = store.makeBodyWriter()
                    try writer.write(body)
                    store.put(NewStoreEntry(key: key, metadata: metadata, body: try writer.finish()))
                    if awaited { try await store.flush() }
                } catch {
                    fail("\(error)")
                }
            }
            try? await store.flush()
        }
        let get = await microseconds(count) {
            for index in 0..<count {
                let found = store.lookupBlocking(keys[index * 7919 % count])
                guard let entry = found.entries.first, let bytes = try? entry.body.load(limit: 1 << 20), bytes.count == size else {
                    fail("get")
                }
            }
        }
        await store.close()
        try? FileManager.default.removeItem(atPath: path)
        return (put, get)
    }
}
