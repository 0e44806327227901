import FoundationEssentials
import Persistence

/// Puts without an end. Says which puts it has seen on disk, and is killed.
enum PutsForever {
    static func run() async {
        let mode: StoreConfiguration.Mode = argument(2) == "shared" ? .shared : .private
        var configuration = StoreConfiguration(directory: argument(1), mode: mode)
        configuration.limits.dirtyAge = .milliseconds(5)
        configuration.limits.diskBytes = 3 << 20
        configuration.limits.bodyBytes = 1 << 20
        let store = Store(configuration)
        guard await store.opened() == .open else { fail("\(store.condition)") }
        say("ready")
        var version = number(3)
        while true {
            let key = Int.random(in: 0..<Content.keys)
            version += 1
            do {
                let writer = store.makeBodyWriter()
                try writer.write(Content.body(key, version))
                let outcome = store.put(Content.entry(key, version: version, body: try writer.finish()))
                guard outcome == .accepted || outcome == .overloaded else { fail("put: \(outcome)") }
                if version % 5 == 0 {
                    try await store.flush()
                    if outcome == .accepted { say("flushed \(key) \(version)") }
                }
                if version % 11 == 0 { store.remove(EntryKey("key-\(key)", partition: "p\(key % 3)")) }
            } catch {
                fail("\(error)")
            }
        }
    }
}
