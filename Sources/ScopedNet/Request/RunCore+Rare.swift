import Synchronization
import SystemSupport

/// Timers and further bags: most runs never have any, so they live in a table beside the run.
extension RunCore {
    /// Timers, further bags: most runs never have any, so they live in a table beside the run.
    struct Rare {
        /// Timers, by the number of the exchange they were set for.
        var waits: [UInt64: any Cancellable] = [:]
        var links: [BagMember] = []
        var bags: [BagStorage] = []
        /// Of the bags, those that count the run among what is being delivered.
        var counting: [BagStorage] = []
        var hooks: HookBox?

        private static let stripes: [Shard] = (0..<16).map { _ in Shard() }
        private final class Shard: Sendable { let table = Lock<[UInt64: Rare]>([:]) }

        static func of(_ id: UInt64) -> Rare { stripes[Int(id & 15)].table.withLock { $0[id] } ?? Rare() }

        static func update<Result>(_ id: UInt64, _ body: (inout Rare) -> Result) -> Result {
            stripes[Int(id & 15)].table.withLock { body(&$0[id, default: Rare()]) }
        }

        /// Nil when there is nothing; makes nothing.
        static func ifAny<Result>(_ id: UInt64, _ body: (inout Rare) -> Result) -> Result? {
            stripes[Int(id & 15)].table.withLock { table in
                guard let index = table.index(forKey: id) else { return nil }
                return body(&table.values[index])
            }
        }

        static func take(_ id: UInt64) -> Rare? { stripes[Int(id & 15)].table.withLock { $0.removeValue(forKey: id) } }
    }

    /// A timer of one exchange. The caller looks at the stage afterwards: it may be over.
    func setWait(_ wait: any Cancellable, exchange number: UInt64) {
        Rare.update(id) { $0.waits[number] = wait }
        noteRare()
    }

    func cancelWait(exchange number: UInt64) {
        guard rareFlag.load(ordering: .sequentiallyConsistent) else { return }
        Rare.ifAny(id) { $0.waits.removeValue(forKey: number) }??.cancel()
    }

    func cancelWaits() {
        guard rareFlag.load(ordering: .sequentiallyConsistent) else { return }
        let waits = Rare.ifAny(id) { rare in
            defer { rare.waits = [:] }
            return rare.waits
        }
        waits?.values.forEach { $0.cancel() }
    }

    /// After something was put in the table. A run that has left the agent meanwhile takes it out itself: nobody else will.
    func noteRare() {
        rareFlag.store(true, ordering: .sequentiallyConsistent)
        if isRetired { dropRare() }
    }

    func dropRare() {
        // Released here, outside the table's lock.
        let rare = Rare.take(id)
        rare?.waits.values.forEach { $0.cancel() }
        rare?.counting.forEach { $0.endDelivery() }
    }

    /// Until the run leaves the agent, those bags have it under way. One that is being put in sees the ending by itself, and is not waited for.
    func beginDeliveryInFurtherBags() {
        guard rareFlag.load(ordering: .sequentiallyConsistent) else { return }
        let bags = Rare.ifAny(id) { rare in
            rare.counting = rare.bags
            return rare.bags
        }
        bags?.forEach { $0.beginDelivery() }
    }

    /// Puts a run that is under way into one more bag.
    func join(_ storage: BagStorage) -> Bool {
        let link = RunLink(self)
        Rare.update(id) {
            $0.links.append(link)
            $0.bags.append(storage)
        }
        noteRare()
        guard storage.insert(link) else {
            _ = cancel(storage.endReason ?? .ownerReleased)
            return false
        }
        // It ended while it was being put in.
        if gateState.isOver || gateState.isEnding {
            link.leaveBag()
            return false
        }
        return true
    }

    func leaveBags() {
        leaveBag()
        guard rareFlag.load(ordering: .sequentiallyConsistent) else { return }
        // They stay in the table: the last calls ask what has become of their bags.
        let links = Rare.ifAny(id) { $0.links }
        links?.forEach { $0.leaveBag() }
    }
}

/// A further bag a run is in.
private final class RunLink: BagMember, @unchecked Sendable {
    // Safety: as the base class; `run` is constant.
    private let run: RunCore
    override var stepNumber: UInt64 { run.id }
    override var ending: (@Sendable () async -> Void)? { run.ending }
    override func isOf(_ run: RunCore) -> Bool { self.run === run }

    init(_ run: RunCore) {
        self.run = run
        super.init()
    }

    override func closeGate(_ reason: CancelReason) -> (result: Run.CancelResult, aftermath: Aftermath) { run.closeGate(reason) }
    override func tearDown(_ reason: CancelReason) { run.tearDown(reason) }
    override func stopWork() { run.stopWork() }
}
