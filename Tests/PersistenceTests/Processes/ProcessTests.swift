import CleanSlate
import FoundationEssentials
import Glibc
import Testing

@testable import Persistence
@testable import StoreCrasher

/// What other processes do to a store, and what becomes of it when they are killed (defect 30).
@Suite(.leavesNothing, .serialized) struct ProcessTests {
    static let isSoak = getenv("SCOPEDNET_SOAK").map { String(cString: $0) } == "1"

    let folder = TestFolder()

    /// Kills a process that puts, at any moment, again and again. The store always opens, nothing in it is torn, and what was on disk when
    /// `flush` returned is still there, or something newer.
    @Test(arguments: ["private", "shared"])
    func aKilledProcessLeavesEveryEntryOldOrNew(mode: String) async throws {
        let rounds = Self.isSoak ? 1000 : 25
        var acknowledged = 0
        var versions = 0
        for round in 1...rounds {
            let child = try ChildProcess(["puts", folder.folder.path, mode, "\(round * 100_000)"])
            try #require(child.line() == "ready")
            var lines = child.lines(for: Int.random(in: 1...120))
            child.kill(SIGKILL)
            #expect(child.wait() == 128 + SIGKILL)
            while let line = child.line() { lines.append(line) }
            let failures = lines.filter { !$0.hasPrefix("flushed") }
            #expect(failures.isEmpty, "round \(round)")
            let log = EventLog()
            let store = Store(folder.configuration(mode == "shared" ? .shared : .private) { $0.onEvent = log.sink })
            #expect(await store.opened() == .open)
            let report = try await store.verify()
            #expect(report.isClean, "round \(round): \(report.problems)")
            #expect(!log.all.contains { if case .replaced = $0 { true } else { false } }, "round \(round)")
            let seen = try await check(store, acknowledged: lines, round: round)
            versions += seen
            acknowledged += lines.count
            await store.close()
        }
        print("\(mode): \(rounds) kills, \(acknowledged) acknowledged puts, \(versions) entries checked")
        #expect(acknowledged > 0)
    }

    /// - Returns: how many entries there were.
    private func check(_ store: Store, acknowledged lines: [String], round: Int) async throws -> Int {
        var newest: [Int: Int] = [:]
        for line in lines {
            let words = line.split(separator: " ").compactMap { Int($0) }
            if words.count == 2 { newest[words[0]] = words[1] }
        }
        var entries = 0
        for key in 0..<Content.keys {
            let found = await store.lookup(EntryKey("key-\(key)", partition: "p\(key % 3)"))
            for entry in found.entries {
                let version = try #require(Content.version(of: entry, key: key), "round \(round): key \(key) is torn")
                entries += 1
                // Removed or evicted since is possible; older than what was acknowledged is not.
                #expect(version >= newest[key] ?? 0, "round \(round): key \(key)")
            }
        }
        return entries
    }

    /// Two and four programs on one store, invalidating for each other; some are killed and started again.
    @Test(arguments: [2, 4])
    func processesNeverSeeWhatAnotherInvalidated(count: Int) async throws {
        let oracle = folder.path + "/oracle"
        var children: [ChildProcess] = []
        var started = 0
        func start() throws {
            started += 1
            let child = try ChildProcess(["share", folder.folder.path, oracle, "\(started * 7919)"])
            #expect(child.line() == "ready")
            children.append(child)
        }
        for _ in 0..<count { try start() }
        var steps = 0
        for _ in 0..<(Self.isSoak ? 300 : 12) {
            let victim = children.remove(at: Int.random(in: 0..<children.count))
            for line in victim.lines(for: Int.random(in: 20...150)) {
                #expect(line.hasPrefix("steps"))
                steps += 50
            }
            victim.kill(SIGKILL)
            #expect(victim.wait() == 128 + SIGKILL)
            try start()
        }
        for child in children {
            child.kill(SIGKILL)
            child.wait()
            while let line = child.line() {
                #expect(line.hasPrefix("steps"))
                steps += 50
            }
        }
        let store = Store(folder.configuration(.shared))
        let report = try await store.verify()
        #expect(report.isClean, "\(report.problems)")
        await store.close()
        print("\(count) processes: \(steps) steps and more, \(started) starts")
        #expect(steps > 0)
    }

    @Test func aLargeBodyTakesLittleMemory() throws {
        let bytes = Self.isSoak ? 1 << 30 : 1 << 26
        let child = try ChildProcess(["body", folder.folder.path, "\(bytes)"])
        let line = try #require(child.line(within: 500_000))
        let used = try #require(Int(line.split(separator: " ").last ?? ""))
        #expect(line.hasPrefix("memory"))
        #expect(used <= 16 << 10, "\(used) KiB")
        #expect(child.wait() == 0)
        print("a body of \(bytes >> 20) MiB: \(used) KiB")
    }

    @Test(.enabled(if: Namespaces.areAllowed))
    func aFullDiskIsNoCacheAndNoFailure() throws {
        let mount = folder.path + "/disk"
        mkdir(mount, 0o700)
        let script = "mount -t tmpfs -o size=6m tmpfs \(mount) && exec \(ChildProcess.crasher) full \(mount)"
        let child = try ChildProcess("unshare", Namespaces.options + ["sh", "-c", script])
        var lines: [String] = []
        while let line = child.line() { lines.append(line) }
        #expect(lines == ["lost", "body unavailable", "back", "clean"])
        #expect(child.wait() == 0)
    }

    @Test func aSignalWaitsForTheFlushAndThenDoesWhatItDid() async throws {
        for (how, status, count) in [("signals", 128 + SIGTERM, 1), ("handled", 42, 1), ("none", 128 + SIGTERM, 0)] {
            let folder = TestFolder()
            let child = try ChildProcess(["wait", folder.folder.path, how])
            #expect(child.line() == "ready")
            child.kill(SIGTERM)
            #expect(child.wait() == status, "\(how)")
            let store = Store(folder.configuration())
            let found = await store.lookup(EntryKey("key-1", partition: "p1"))
            #expect(found.entries.count == count, "\(how)")
            await store.close()
        }
    }

    /// What is lost is what was not written yet, and that is never older than the dirty age.
    @Test(arguments: [("written", 1), ("none", 0)])
    func aKillTakesWhatWasNotWrittenYet(how: String, count: Int) async throws {
        let child = try ChildProcess(["wait", folder.folder.path, how])
        #expect(child.line() == "ready")
        if how == "written" { #expect(child.line() == "wrote") }
        child.kill(SIGKILL)
        #expect(child.wait() == 128 + SIGKILL)
        let store = Store(folder.configuration())
        let found = await store.lookup(EntryKey("key-1", partition: "p1"))
        #expect(found.entries.count == count)
        await store.close()
    }

    // Defect 55
    @Test func aSecondUserOfAPrivateStoreWorksInMemory() async throws {
        let child = try ChildProcess(["wait", folder.folder.path, "none"])
        #expect(child.line() == "ready")
        for mode in [StoreConfiguration.Mode.private, .shared] {
            let store = Store(folder.configuration(mode))
            #expect(await store.opened() == .memoryOnly(reason: "another process uses the store"))
            let key = EntryKey("mine")
            let ticket = await store.lookup(key).ticket
            #expect(store.put(NewStoreEntry(key: key, metadata: Data([1])), ticket: ticket) == .accepted)
            let found = await store.lookup(key)
            #expect(found.entries.count == 1)
            await #expect(throws: StoreError.self) { try await store.flush() }
            await store.close()
        }
        child.kill(SIGKILL)
    }
}

/// Whether this machine lets tests mount something of their own.
enum Namespaces {
    static let options = getuid() == 0 ? ["-m"] : ["-Urm"]

    static let areAllowed: Bool = {
        guard let child = try? ChildProcess("unshare", options + ["true"]) else { return false }
        return child.wait() == 0
    }()
}
