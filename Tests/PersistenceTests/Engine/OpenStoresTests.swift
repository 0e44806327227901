import CleanSlate
import Dispatch
import SystemSupport
import Testing

@testable import Persistence

/// The stores of a process, as those know of each other that want the same files.
@Suite(.leavesNothing) struct OpenStoresTests {
    private final class Double: OpenStore {
        let folder: String
        let lockFile: UInt64?
        let isClosing: Bool

        init(_ folder: String, lockFile: UInt64? = nil, isClosing: Bool = true) {
            self.folder = folder
            self.lockFile = lockFile
            self.isClosing = isClosing
        }

        func isLettingGo(of folder: String, lockFile: UInt64?) -> Bool {
            isClosing && (folder == self.folder || lockFile != nil && lockFile == self.lockFile)
        }

        func flushNow(_ done: @escaping @Sendable () -> Void) { done() }
    }

    private let stores = OpenStores()

    private func add(_ store: Double) -> UInt64 {
        let number = stores.makeNumber()
        stores.add(store, number: number)
        return number
    }

    private func hasWaited(_ number: UInt64, lockFile: UInt64? = nil, limit: Duration = .seconds(60)) -> Bool {
        stores.waitForPredecessors(of: number, folder: "/a", lockFile: lockFile, limit: limit)
    }

    @Test(arguments: [UInt64?.none, 7]) func aPredecessorIsWaitedFor(lockFile: UInt64?) {
        // By its path, or by the file that it locks.
        let former = add(lockFile == nil ? Double("/a") : Double("/link/to/a", lockFile: lockFile))
        let number = stores.makeNumber()
        DispatchQueue.global().async { [stores] in stores.remove(number: former) }
        // The other thread may be done before anybody waits.
        _ = hasWaited(number, lockFile: lockFile)
        #expect(!hasWaited(number, lockFile: lockFile))
    }

    @Test func theWaitHasALimit() {
        _ = add(Double("/a"))
        let began = ContinuousClock.now
        #expect(!hasWaited(stores.makeNumber(), limit: .milliseconds(50)))
        #expect(began.duration(to: .now) >= .milliseconds(50))
    }

    @Test func noOtherStoreIsWaitedFor() {
        let number = stores.makeNumber()
        _ = add(Double("/b", lockFile: 7))
        _ = add(Double("/a"))  // younger
        #expect(!hasWaited(number, lockFile: 8))
        let next = stores.makeNumber()
        _ = add(Double("/a", isClosing: false))
        #expect(next > number)
        let began = ContinuousClock.now
        #expect(!hasWaited(number))
        #expect(began.duration(to: .now) < .seconds(30))
    }
}

/// The end of a store, and those who wait for it.
@Suite(.leavesNothing) struct StoreEndTests {
    private let calls = Calls()

    private final class Calls: Sendable {
        private let names = Lock<[String]>([])
        var all: [String] { names.withLock { $0 } }
        func note(_ name: String) -> @Sendable () -> Void { { self.names.withLock { $0.append(name) } } }
    }

    @Test func thoseWhoComeMeanwhileWait() {
        let end = StoreEnd()
        #expect(!end.hasBegun && !end.isUnderWay)
        end.whenOver(calls.note("before"))
        #expect(calls.all == ["before"])
        #expect(end.begin())
        #expect(!end.begin())
        #expect(end.hasBegun && end.isUnderWay)
        end.whenOver(calls.note("first"))
        end.whenOver(calls.note("second"))
        #expect(calls.all == ["before"])
        for done in end.finish() { done() }
        #expect(calls.all == ["before", "first", "second"])
        #expect(end.hasBegun && !end.isUnderWay)
        end.whenOver(calls.note("after"))
        #expect(calls.all == ["before", "first", "second", "after"])
        #expect(end.finish().isEmpty)
    }
}

/// The time until the next try to open a database.
@Suite(.leavesNothing) struct ReopenBackoffTests {
    @Test func itDoublesUpToAMinute() {
        var backoff = ReopenBackoff()
        #expect((0..<8).map { _ in backoff.fail() } == [1, 2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
        for _ in 0..<100 { #expect(backoff.fail() == .seconds(60)) }
        backoff.succeed()
        #expect(backoff.fail() == .seconds(1))
    }
}

/// The way of events to the program.
@Suite(.leavesNothing) struct StoreEventsTests {
    private final class Witness: Sendable {
        let events = Lock<StoreEvents?>(nil)
        let seen = Lock<[Bool]>([])
    }

    @Test func theyAreTellingOnlyWhileTheProgramIsCalled() {
        let witness = Witness()
        let events = StoreEvents { [weak witness] _ in
            guard let witness, let events = witness.events.withLock({ $0 }) else { return }
            witness.seen.withLock { $0.append(events.isTelling) }
        }
        witness.events.withLock { $0 = events }
        #expect(!events.isTelling)
        events.tell(.opened)
        #expect(witness.seen.withLock { $0 } == [true])
        #expect(!events.isTelling)
        witness.events.withLock { $0 = nil }
    }
}
