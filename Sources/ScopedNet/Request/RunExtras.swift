import Synchronization
import SystemSupport

/// The waits, further bags and hooks of a run. Few runs have any: made with the first of them, and gone with the run at the latest.
final class RunExtras: Sendable {
    struct State {
        var waits = WaitSet()
        var links: [ScopeMember] = []
        var bags: [BagStorage] = []
        /// Of the bags, those that count the run among what is being delivered.
        var counting: [BagStorage] = []
        var hooks: HookBox?
    }

    private let state = Lock(State())

    func change<Result>(_ body: (inout State) -> Result) -> Result { state.withLock(body) }

    /// All of it, for the caller to end outside the lock.
    func takeAll() -> State {
        state.withLock { state in
            defer { state = State() }
            return state
        }
    }

    /// One pointer of a run, which any thread may be the first to need.
    struct Slot: ~Copyable {
        // Safety: the word is nil or a reference that this slot owns. It is stored once, by whoever's exchange finds none, and released with
        // the slot, which its run outlives no use of.
        private let reference = Atomic<UInt>(0)

        deinit { Self.unmanaged(reference.load(ordering: .acquiring))?.release() }

        private static func unmanaged(_ bits: UInt) -> Unmanaged<RunExtras>? { UnsafeRawPointer(bitPattern: bits).map { .fromOpaque($0) } }

        /// Nil for most runs, for ever.
        var extras: RunExtras? { Self.unmanaged(reference.load(ordering: .sequentiallyConsistent))?.takeUnretainedValue() }

        func make() -> RunExtras {
            if let extras { return extras }
            let made = Unmanaged.passRetained(RunExtras())
            let bits = UInt(bitPattern: made.toOpaque())
            let (isMine, other) = reference.compareExchange(expected: 0, desired: bits, ordering: .sequentiallyConsistent)
            if isMine { return made.takeUnretainedValue() }
            // Another thread was faster.
            made.release()
            return Self.unmanaged(other)?.takeUnretainedValue() ?? RunExtras()
        }
    }
}

/// Waits, further bags and the hooks of one start.
extension RunCore {
    /// Changes what there is; makes nothing.
    func ifExtras<Result>(_ body: (inout RunExtras.State) -> Result) -> Result? { extras.extras?.change(body) }

    /// Puts something in. A run that has left the agent meanwhile ends it itself: nobody else will.
    func addExtra(_ body: (inout RunExtras.State) -> Void) {
        extras.make().change(body)
        if isRetired { dropExtras() }
    }

    /// The run has left the agent, or is about to.
    func dropExtras() {
        guard var rest = extras.extras?.takeAll() else { return }
        for item in rest.waits.takeAll() { item.cancel() }
        for bag in rest.counting { bag.endDelivery() }
    }

    // MARK: Waits

    /// The caller looks at the stage afterwards: the wait may be over.
    func setWait(_ item: any Cancellable, _ kind: WaitSet.Kind, of number: UInt64) {
        addExtra { $0.waits.set(item, kind, of: number) }
    }

    func cancelWait(_ kind: WaitSet.Kind, of number: UInt64) {
        ifExtras { $0.waits.take(kind, of: number) }??.cancel()
    }

    func cancelWait(_ number: UInt64) {
        ifExtras { $0.waits.takeWait(number) }?.forEach { $0.cancel() }
    }

    func cancelWaits() {
        ifExtras { $0.waits.takeAll() }?.forEach { $0.cancel() }
    }

    // MARK: Bags

    /// Until the run leaves the agent, those bags have it under way. One that is being put in sees the ending by itself, and is not waited for.
    func beginDeliveryInFurtherBags() {
        let bags = ifExtras { state in
            state.counting = state.bags
            return state.bags
        }
        bags?.forEach { $0.beginDelivery() }
    }

    /// Puts a run that is under way into one more bag.
    func join(_ storage: BagStorage) -> Bool {
        let link = RunLink(self)
        addExtra {
            $0.links.append(link)
            $0.bags.append(storage)
        }
        guard storage.insert(link) else {
            _ = cancel(storage.endReason ?? .ownerReleased)
            return false
        }
        // It ended while it was being put in.
        if lifecycle.isOver || lifecycle.isEnding {
            link.leaveBag()
            return false
        }
        return true
    }

    func leaveBags() {
        leaveBag()
        // They stay there: the last calls ask what has become of their bags.
        ifExtras { $0.links }?.forEach { $0.leaveBag() }
    }

    var closedBag: BagStorage? {
        if isBagClosed { return bag }
        return ifExtras { $0.bags }?.first { $0.isClosed }
    }

    /// True where a bag has cancelled its members since this run left it for its last calls.
    var wasCancelledInBag: Bool {
        if wasCancelledAfterLeaving { return true }
        return ifExtras { $0.links }?.contains { $0.wasCancelledAfterLeaving } ?? false
    }
}

/// A further bag a run is in.
private final class RunLink: ScopeMember, @unchecked Sendable {
    // Safety: as the base class; `run` is constant.
    private let run: RunCore
    override var stepNumber: UInt64 { run.id }
    override var ending: (@Sendable () async -> Void)? { run.ending }
    override func isOf(_ member: ScopeMember) -> Bool { run === member }

    init(_ run: RunCore) {
        self.run = run
        super.init()
    }

    override func closeGate(_ reason: CancelReason) -> (result: Run.CancelResult, aftermath: Aftermath) { run.closeGate(reason) }
    override func tearDown(_ reason: CancelReason) { run.tearDown(reason) }
    override func stopWork() { run.stopWork() }
}
