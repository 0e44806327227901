import SystemSupport

/// The hooks and further bags of a run, and its waits until they are dropped.
extension ManagedRun {
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
        // Readers of a run that was not cancelled go on with what has come.
        if lifecycle.phase == .ended { _ = rest.waits.takeAll(.reader) }
        for item in rest.waits.takeAll() { item.cancel() }
        for bag in rest.counting { bag.endDelivery() }
    }

    // MARK: Hooks

    /// With the closures (G6).
    func dropHooks() {
        // Released here, outside the lock.
        _ = ifExtras { extras in
            defer { (extras.hooks, extras.bodyWatch) = (nil, nil) }
            return (extras.hooks, extras.bodyWatch)
        }
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
    private let run: ManagedRun
    override var stepNumber: UInt64 { run.id }
    override var ending: (@Sendable () async -> Void)? { run.ending }
    override func isOf(_ member: ScopeMember) -> Bool { run === member }

    init(_ run: ManagedRun) {
        self.run = run
        super.init()
    }

    override func closeGate(_ reason: CancelReason) -> (result: CancelOutcome, aftermath: Aftermath) { run.closeGate(reason) }
    override func tearDown(_ reason: CancelReason) { run.tearDown(reason) }
    override func stopWork() { run.stopWork() }
}
