import FoundationEssentials
import Glibc
import Persistence

/// One of several processes on a store: looks up, puts and invalidates, and checks that nothing invalidated is ever seen again.
///
/// The oracle is a file of numbers beside the store: a counter, and for each key the number of its last invalidation that is on disk. What
/// was fetched with a lower number may not be seen after that, in any process.
enum SharedUse {
    static func run() async {
        var configuration = StoreConfiguration(directory: argument(1), mode: .shared)
        configuration.limits.memoryBytes = 1 << 20
        let store = Store(configuration)
        let oracle = Oracle(argument(2))
        var generator = Steps(state: UInt64(number(3)) | 1)
        guard await store.opened() == .open else { fail("\(store.condition)") }
        say("ready")
        var steps = 0
        while true {
            let key = Int(generator.next() % 8)
            let name = EntryKey("key-\(key)", partition: "p\(key % 3)")
            let floor = oracle.floor(key)
            let found = await store.lookup(name)
            for entry in found.entries {
                guard let version = Content.version(of: entry, key: key) else {
                    // A file may be removed between the lookup and the opening; a row may not change.
                    if entry.body.data == nil { continue }
                    fail("a torn entry of key \(key)")
                }
                guard version > floor else { fail("key \(key): version \(version) was invalidated by \(floor)") }
            }
            switch generator.next() % 10 {
            case 0..<3:
                let version = oracle.next()
                let isPartition = version % 5 == 0
                if isPartition { store.removeAll(in: name.partition) } else { store.remove(name) }
                do { try await store.flush() } catch { fail("flush: \(error)") }
                for other in 0..<8 where other == key || isPartition && other % 3 == key % 3 { oracle.publish(other, version) }
            case 3..<8:
                let version = oracle.next()
                let writer = store.makeBodyWriter()
                do {
                    try writer.write(Content.body(key, version))
                    store.put(Content.entry(key, version: version, body: try writer.finish()), ticket: found.ticket)
                } catch {
                    fail("put: \(error)")
                }
            default: break
            }
            steps += 1
            if steps % 50 == 0 { say("steps \(steps)") }
        }
    }

    struct Steps {
        var state: UInt64
        mutating func next() -> UInt64 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return state >> 16
        }
    }
}

/// Numbers shared by processes: a counter at 0, one for each key after it.
struct Oracle {
    private let descriptor: Int32

    init(_ path: String) {
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        if descriptor < 0 { fail("\(path): errno \(errno)") }
    }

    func floor(_ key: Int) -> Int { read(key + 1) }

    func next() -> Int {
        exclusively {
            let value = read(0) + 1
            write(value, 0)
            return value
        }
    }

    func publish(_ key: Int, _ version: Int) {
        exclusively { if read(key + 1) < version { write(version, key + 1) } }
    }

    private func read(_ index: Int) -> Int {
        var value = 0
        pread(descriptor, &value, 8, off_t(index * 8))
        return value
    }

    private func write(_ value: Int, _ index: Int) {
        var value = value
        if pwrite(descriptor, &value, 8, off_t(index * 8)) != 8 { fail("the oracle: errno \(errno)") }
    }

    /// By a lock of the file's, which goes with the process.
    private func exclusively<Result>(_ body: () -> Result) -> Result {
        var lock = flock(l_type: Int16(F_WRLCK), l_whence: Int16(SEEK_SET), l_start: 0, l_len: 0, l_pid: 0)
        while fcntl(descriptor, F_SETLKW, &lock) != 0 {}
        defer {
            lock.l_type = Int16(F_UNLCK)
            _ = fcntl(descriptor, F_SETLK, &lock)
        }
        return body()
    }
}
