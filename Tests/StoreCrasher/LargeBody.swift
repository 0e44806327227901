import FoundationEssentials
import Glibc
import Persistence

/// Writes and reads a body, and says how much memory that took at most.
enum LargeBody {
    static func run() async {
        var configuration = StoreConfiguration(directory: argument(1))
        configuration.limits.diskBytes = 8 << 30
        configuration.limits.bodyBytes = 4 << 30
        let store = Store(configuration)
        guard await store.opened() == .open else { fail("\(store.condition)") }
        let length = number(2)
        let chunk = Content.bytes(1 << 16, seed: 1)
        // The peak counts from here.
        if let file = fopen("/proc/self/clear_refs", "w") {
            fputs("5", file)
            fclose(file)
        }
        let before = memory("VmRSS")
        do {
            let writer = store.makeBodyWriter()
            for _ in 0..<length / chunk.count { try writer.write(chunk) }
            try await store.putAndFlush(NewStoreEntry(key: EntryKey("large"), metadata: Data(), body: try writer.finish()))
            await store.relieveMemory()
            guard let entry = await store.lookup(EntryKey("large")).entries.first, entry.body.length == length else { fail("it is gone") }
            let reader = try entry.body.makeReader()
            for start in stride(from: 0, to: length, by: chunk.count) where try reader.read(at: start, upTo: chunk.count) != chunk {
                fail("other bytes at \(start)")
            }
        } catch {
            fail("\(error)")
        }
        say("memory \(memory("VmHWM") - before)")
        await store.close()
    }

    /// A line of /proc/self/status, in KiB.
    private static func memory(_ name: String) -> Int {
        guard let file = fopen("/proc/self/status", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, 256, file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if text.hasPrefix(name) { return text.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? 0 }
        }
        return 0
    }
}
