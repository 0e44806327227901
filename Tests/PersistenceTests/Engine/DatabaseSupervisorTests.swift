import CleanSlate
import FoundationEssentials
import SystemSupport
import Testing

@testable import Persistence

/// Opening, replacing and losing the database of a store.
@Suite(.leavesNothing) struct DatabaseSupervisorTests {
    /// - Returns: the databases that were told of.
    private func opened(_ body: (_ then: (StoreDatabase) -> Void) -> Void) -> [StoreDatabase] {
        var databases: [StoreDatabase] = []
        body { databases.append($0) }
        return databases
    }

    @Test func anOpenDatabaseIsHandedOutAndTold() async {
        let lab = EngineLab()
        #expect(lab.supervisor.lockFile == nil)
        let databases = opened { lab.supervisor.open(then: $0) }
        #expect(databases.count == 1 && databases.first === lab.handle.current)
        #expect(lab.handle.storeCondition == .open && lab.log.all == [.opened])
        #expect(lab.memory.withLock { $0.disk == .open })
        #expect(lab.supervisor.lockFile == Files.inode(of: lab.folder.folder.lock))
        await lab.close()
        #expect(lab.handle.storeCondition == .closed)
        #expect(opened { lab.supervisor.open(then: $0) }.isEmpty)
        #expect(lab.handle.storeCondition == .closed)
    }

    @Test func totalsAreKnownAtOnce() async throws {
        let lab = EngineLab()
        let database = try lab.folder.database()
        let totals = try database.write(makeBatch([makeEntry("a")]), now: 1).totals
        database.close()
        lab.supervisor.open { _ in }
        #expect(lab.handle.totals == totals && totals.entries == 1)
        await lab.close()
    }

    @Test func aFileThatIsNoStoreIsReplaced() async throws {
        let lab = EngineLab()
        try lab.folder.folder.prepare()
        try lab.folder.overwrite(lab.folder.folder.database, Array("This is no database. ".utf8) + [UInt8](repeating: 65, count: 9000))
        #expect(opened { lab.supervisor.open(then: $0) }.count == 1)
        #expect(lab.isReplaced && lab.log.all.last == .opened)
        await lab.close()
    }

    @Test func damageThatComesAgainAtOnceIsLeftAlone() async {
        let lab = EngineLab()
        lab.supervisor.open { _ in }
        #expect(opened { lab.supervisor.replace("first", then: $0) }.count == 1)
        #expect(lab.handle.storeCondition == .open)
        lab.clock.advance(by: 9)
        #expect(opened { lab.supervisor.replace("second", then: $0) }.isEmpty)
        #expect(lab.handle.storeCondition == .memoryOnly(reason: "damaged again and again: second"))
        lab.clock.advance(by: 59)
        #expect(!lab.handle.takeRetry(at: lab.clock.clocks.monotonic()))
        lab.clock.advance(by: 1)
        #expect(lab.handle.takeRetry(at: lab.clock.clocks.monotonic()))
        // After a while it is an accident again.
        lab.supervisor.open { _ in }
        #expect(opened { lab.supervisor.replace("third", then: $0) }.count == 1)
        await lab.close()
    }

    @Test func eachFailureIsFollowedByALongerWait() async {
        let lab = EngineLab(directory: "relative")
        for seconds in [1, 2, 4] as [Int64] {
            #expect(opened { lab.supervisor.open(then: $0) }.isEmpty)
            #expect(lab.handle.storeCondition == .memoryOnly(reason: "the folder of a store is an absolute path"))
            lab.clock.advance(by: seconds - 1)
            #expect(!lab.handle.takeRetry(at: lab.clock.clocks.monotonic()))
            lab.clock.advance(by: 1)
            #expect(lab.handle.takeRetry(at: lab.clock.clocks.monotonic()))
        }
        #expect(lab.log.all.count == 3)
        await lab.close()
    }

    @Test func aStoreOfAnotherIsLeftToIt() async throws {
        let lab = EngineLab()
        try lab.folder.folder.prepare()
        let lock = try LockFile(lab.folder.folder.lock, isExclusive: true)
        lab.supervisor.open { _ in }
        #expect(lab.handle.storeCondition == .memoryOnly(reason: "another process uses the store"))
        #expect(lab.memory.withLock { $0.disk == .none })
        lock.release()
        lab.supervisor.open { _ in }
        #expect(lab.handle.storeCondition == .open)
        await lab.close()
    }

    /// Others work with the files: they are not taken away from them.
    @Test func aSharedStoreIsReplacedByItsLastUserAlone() async throws {
        let lab = EngineLab(.shared)
        lab.supervisor.open { _ in }
        do {
            let other = try LockFile(lab.folder.folder.lock, isExclusive: false)
            defer { other.release() }
            #expect(opened { lab.supervisor.replace("damage", then: $0) }.isEmpty)
        }
        guard case .memoryOnly(let reason) = lab.handle.storeCondition else {
            Issue.record("\(lab.log.all)")
            return
        }
        #expect(reason == "the store is damaged, and others still use it: damage")
        await lab.close()
    }

    @Test func filesThatWereRemovedAreMadeAnew() async throws {
        let lab = EngineLab()
        lab.supervisor.open { _ in }
        let former = try #require(lab.handle.current)
        #expect(opened { lab.supervisor.reopenIfMoved(former, then: $0) }.isEmpty)
        #expect(lab.handle.current === former)
        try FileManager.default.removeItem(atPath: lab.folder.folder.path)
        #expect(opened { lab.supervisor.reopenIfMoved(former, then: $0) }.count == 1)
        let present = try #require(lab.handle.current)
        #expect(present !== former && present.isInPlace)
        // The former one is nobody's concern any more.
        #expect(opened { lab.supervisor.reopenIfMoved(former, then: $0) }.isEmpty)
        await lab.close()
    }

    @Test func bodiesOnTheirWayAreDiscardedWithTheDisk() async throws {
        let lab = EngineLab()
        lab.supervisor.open { _ in }
        let bodies = BodyPlacement(folder: lab.folder.folder, inlineBytes: 10, sealing: nil)
        #expect(lab.put(makeEntry("file", body: try bodies.settled(.data(Data(count: 100))))) == .accepted)
        #expect(lab.put(makeEntry("row")) == .accepted)
        #expect(lab.folder.temporaries.count == 1)
        lab.supervisor.lose("gone")
        #expect(lab.folder.temporaries.isEmpty)
        #expect(lab.memory.withLock { $0.known(EntryKey("file")).isEmpty && $0.known(EntryKey("row")).count == 1 })
        #expect(lab.log.all.last == .lostDisk(reason: "gone"))
        await lab.close()
    }
}

/// The database of a store, as its users find it.
@Suite(.leavesNothing) struct DatabaseHandleTests {
    @Test func whoWaitsIsToldWhatBecameOfIt() async {
        let handle = DatabaseHandle()
        #expect(handle.storeCondition == .opening && handle.current == nil)
        async let found = withCheckedContinuation { continuation in
            Thread.start { continuation.resume(returning: handle.wait() == nil) }
        }
        handle.change(to: .none(reason: "no", retry: .seconds(5)))
        #expect(await found)
        #expect(handle.wait() == nil && handle.storeCondition == .memoryOnly(reason: "no"))
    }

    private enum Thread {
        static func start(_ body: @escaping @Sendable () -> Void) { _ = SystemThread.make("test-handle", body) }
    }

    @Test func aRetryIsTakenByOne() {
        let handle = DatabaseHandle()
        #expect(!handle.takeRetry(at: .seconds(100)))
        handle.change(to: .none(reason: "no", retry: .seconds(5)))
        #expect(!handle.takeRetry(at: .seconds(4)))
        #expect(handle.takeRetry(at: .seconds(5)))
        #expect(!handle.takeRetry(at: .seconds(6)))
        // Another one is due an hour later, if nothing comes of it.
        #expect(handle.takeRetry(at: .seconds(3606)))
    }

    @Test func callsAreToldWhyThereIsNoDatabase() {
        let handle = DatabaseHandle()
        #expect(handle.unavailable == StoreError(.unavailable, "the store is being opened"))
        handle.change(to: .none(reason: "no", retry: .zero))
        #expect(handle.unavailable == StoreError(.unavailable, "no"))
        guard case .none(let reason, _) = handle.change(to: .closed) else {
            Issue.record("the former state was another")
            return
        }
        #expect(reason == "no")
        #expect(handle.unavailable == StoreError(.closed, "the store is closed"))
    }
}
