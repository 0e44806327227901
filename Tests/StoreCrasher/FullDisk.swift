import FoundationEssentials
import Glibc
import Persistence

/// Fills a small file system, goes on without it, and comes back when there is room.
enum FullDisk {
    static func run() async {
        let folder = argument(1)
        let ballast = folder + "/ballast"
        var configuration = StoreConfiguration(directory: folder + "/store")
        configuration.limits.dirtyAge = .milliseconds(5)
        // More than there is: eviction alone must not save it.
        let (events, continuation) = AsyncStream<StoreEvent>.makeStream()
        configuration.onEvent = { continuation.yield($0) }
        let store = Store(configuration)
        guard await store.opened() == .open else { fail("\(store.condition)") }
        store.put(Content.entry(1, version: 1, body: .data(Content.body(1, 1))))
        store.put(Content.entry(2, version: 1, body: .data(Content.body(2, 1))))
        do { try await store.flush() } catch { fail("\(error)") }
        fill(ballast)
        // Neither rows nor files find room now; both puts are taken or refused, and nothing fails.
        var isLost = false
        for version in 2..<400 where !isLost {
            store.put(Content.entry(1, version: version, body: .data(Content.bytes(9000, seed: version))))
            try? await store.flush()
            if case .memoryOnly = store.condition { isLost = true }
        }
        guard isLost else { fail("the disk never became full") }
        say("lost")
        let newest = await store.lookup(EntryKey("key-1", partition: "p1"))
        guard newest.entries.count == 1 else { fail("memory forgot") }
        do {
            let writer = store.makeBodyWriter()
            for _ in 0..<100 { try writer.write(Content.bytes(10_000, seed: 1)) }
            fail("a large body found room")
        } catch {
            say("body \(error.code)")
        }
        store.remove(EntryKey("key-2", partition: "p2"))
        unlink(ballast)
        // Used now and then, it finds the disk again.
        var isBack = false
        Task {
            while true {
                _ = await store.lookup(EntryKey("other"))
                try? await Task.sleep(for: .milliseconds(50))
            }
        }
        for await event in events where event == .opened {
            // The first one was the start.
            if isBack { break }
            isBack = store.condition == .open
            if isBack { break }
        }
        say("back")
        await store.relieveMemory()
        let removed = await store.lookup(EntryKey("key-2", partition: "p2"))
        guard removed.entries.isEmpty else { fail("what was removed without a disk came back with it") }
        do {
            try await store.putAndFlush(Content.entry(3, version: 1, body: .data(Content.body(3, 1))))
            let report = try await store.verify()
            guard report.isClean else { fail("\(report.problems)") }
        } catch {
            fail("\(error)")
        }
        say("clean")
        await store.close()
    }

    private static func fill(_ path: String) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        let zeros = [UInt8](repeating: 0, count: 4096)
        while write(descriptor, zeros, zeros.count) > 0 {}
        close(descriptor)
    }
}
