import Synchronization
import SystemSupport

/// Something a bag can end. The links live inside, so that tracking a run allocates nothing.
package class ScopeMember: @unchecked Sendable {
    // Safety: `next`, `previous`, `epoch` and `aftermath` are guarded by the lock of `bag`, except in a list that was taken out of its bag, which
    // belongs to the thread that took it (a member that ends meanwhile sees another epoch and keeps off). `bagReference` is written once,
    // by the inserter, between announcing and confirming the link, before anyone else can ask for it.
    fileprivate var next: Unmanaged<ScopeMember>?
    fileprivate var previous: Unmanaged<ScopeMember>?
    fileprivate var epoch: UInt32 = 0
    /// In a list that was taken: what its taker has left to do.
    fileprivate var aftermath = Aftermath.none
    private let link = Atomic<UInt8>(BagLink.none.rawValue)
    /// Retained here and released at the end: who asks it between does not count references.
    private var bagReference: Unmanaged<BagStorage>?

    package init() {}

    deinit { bagReference?.release() }

    fileprivate func settle(in bag: BagStorage) {
        bagReference?.release()
        bagReference = .passRetained(bag)
    }

    final var bag: BagStorage? { bagReference?.takeUnretainedValue() }
    /// Asked five times for each run.
    final var isBagClosed: Bool { bagReference?._withUnsafeGuaranteedRef { $0.isClosed } ?? false }

    /// Who it is to `StepDoor`.
    var stepNumber: UInt64 { 0 }
    /// Those of one kind that are torn down many at a time; nil for members that are torn down one by one.
    var group: (any ScopeGroup.Type)? { nil }
    /// Bags in a bag are ended one after the other, not one within the other: they may be nested as deep as the program likes.
    var asBag: BagStorage? { nil }
    /// Waits until its work is over; nil for members that end by a cancel alone.
    var ending: (@Sendable () async -> Void)? { nil }
    /// True for this member and for one that stands for it.
    func isOf(_ member: ScopeMember) -> Bool { self === member }

    /// What a closed gate leaves to do.
    package enum Aftermath: Sendable {
        case none
        /// Release closures, stop the work, say the last word.
        case tearDown
        /// Others do the rest, but the work is to stop now.
        case stopWork
    }

    /// First pass of a bag's end: no call of this member starts after it returns. Calls nobody.
    ///
    /// A member that adds nothing has no calls and no work to end.
    package func closeGate(_ reason: CancelReason) -> (result: CancelOutcome, aftermath: Aftermath) { (.alreadyEnded, .none) }

    /// Second pass, for members whose gate was closed by the first.
    package func tearDown(_ reason: CancelReason) {}
    package func stopWork() {}

    /// Both passes, for this member alone.
    package final func cancel(_ reason: CancelReason) -> CancelOutcome {
        let (result, aftermath) = closeGate(reason)
        StepDoor.pass(.gateShut, stepNumber)
        settle(aftermath, reason)
        return result
    }

    package final func settle(_ aftermath: Aftermath, _ reason: CancelReason) {
        switch aftermath {
        case .none: break
        case .tearDown: tearDown(reason)
        case .stopWork: stopWork()
        }
    }

    /// One atomic step of the link; returns what the pure type decided.
    @inline(__always)
    private func step<Action>(_ transition: (inout BagLink) -> Action) -> Action {
        var word = link.load(ordering: .acquiring)
        while true {
            var state = BagLink(rawValue: word) ?? .closed
            let action = transition(&state)
            let (exchanged, original) = link.compareExchange(
                expected: word, desired: state.rawValue, ordering: .acquiringAndReleasing)
            if exchanged { return action }
            word = original
        }
    }

    fileprivate func announce() -> Bool { step { $0.announce() } }
    fileprivate func confirm() -> BagLink.ConfirmAction { step { $0.confirm() } }

    /// The list it was in is gone: there is nothing to leave.
    fileprivate func forgetBag() { _ = step { $0.close() } }

    /// Whether the bag has cancelled its members since this one left it: it was not in the list then.
    package final var wasCancelledAfterLeaving: Bool {
        bagReference?._withUnsafeGuaranteedRef { $0.wasCancelled(since: self) } ?? false
    }

    /// The member has ended: it leaves its bag.
    package final func leaveBag() {
        guard step({ $0.close() }) == .unlink else { return }
        bagReference?._withUnsafeGuaranteedRef { $0.remove(self) }
    }
}

/// The tear-down of many members at once, with one round of every lock that they share.
package protocol ScopeGroup {
    /// As ``ScopeMember/tearDown(_:)`` for each; their gates are closed.
    ///
    /// - Parameter members: of this kind alone; empty afterwards. Nobody here holds one any more when others hear that it is gone.
    static func tearDown(moving members: inout [ScopeMember])
}

/// The list behind a ``DeallocBag``. It outlives the bag as long as a member still asks whether its gate is closed.
package final class BagStorage: Sendable {
    private struct State {
        var head: Unmanaged<ScopeMember>?
        var count = 0
        /// Counts how often the list was taken away as a whole.
        var epoch: UInt32 = 0
        var ended: CancelReason?
    }

    /// Above this many members the owner's thread only marks the bag as ended, which every member sees at its next call; the rest is done in the
    /// background.
    private static let immediateTearDown = 256

    private let state = Lock(State())
    /// Runs that have left the list because they are being delivered, and are not over yet.
    private let delivering = Atomic<Int>(0)
    private let waiters = Lock<[UInt64: CheckedContinuation<Void, Never>]>([:])
    private let waiterCount = Atomic<Int>(0)
    /// The shared gate: members read it right after each admission, so that one store ends them all.
    private let closed = Atomic<Bool>(false)
    // Safety: retained in `init` and released by whoever takes it out, which happens when nobody else refers to this bag (see `deinit`). Who
    // reads it has a reference to this bag or to a bag in it, and so all of its parents are there.
    /// The bits of the reference; zero for none.
    private let parentReference: Atomic<UInt>
    package let label: String

    package init(label: String, parent: BagStorage? = nil) {
        self.label = label
        parentReference = Atomic(parent.map { UInt(bitPattern: Unmanaged.passRetained($0).toOpaque()) } ?? 0)
    }

    /// A chain of parents that nobody else refers to goes link by link; left to itself, each would go within the end of its child.
    deinit {
        var next = takeParent()
        while isKnownUniquelyReferenced(&next) { next = next?.takeParent() }
    }

    /// Only for whoever has the last reference.
    private func takeParent() -> BagStorage? {
        Self.reference(parentReference.exchange(0, ordering: .relaxed))?.takeRetainedValue()
    }

    private var parent: Unmanaged<BagStorage>? { Self.reference(parentReference.load(ordering: .relaxed)) }

    private static func reference(_ bits: UInt) -> Unmanaged<BagStorage>? {
        UnsafeRawPointer(bitPattern: bits).map { .fromOpaque($0) }
    }

    /// The first answer on the way up, this bag's own included.
    private func firstUpwards<Answer>(_ ask: (BagStorage) -> Answer?) -> Answer? {
        if let answer = ask(self) { return answer }
        var next = parent
        while let ancestor = next {
            let (answer, parent) = ancestor._withUnsafeGuaranteedRef { (ask($0), $0.parent) }
            if let answer { return answer }
            next = parent
        }
        return nil
    }

    package var count: Int { state.withLock { $0.count } }

    package var isClosed: Bool {
        if closed.load(ordering: .sequentiallyConsistent) { return true }
        guard parent != nil else { return false }
        let found = firstUpwards { (bag: BagStorage) -> Bool? in bag.closed.load(ordering: .sequentiallyConsistent) ? true : nil }
        return found != nil
    }

    /// Why the bag (or the nearest ended ancestor) ended.
    package var endReason: CancelReason? { firstUpwards { bag in bag.state.withLock { $0.ended } } }

    /// - Returns: false when the bag has ended, or the member has; it is not in the list then.
    package func insert(_ member: ScopeMember) -> Bool {
        guard !isClosed, member.announce() else { return false }
        member.settle(in: self)
        StepDoor.pass(.announced, member.stepNumber)
        // "Ended" and the list are under one lock: a member is either refused or seen by the end.
        let accepted = state.withLock { state -> Bool in
            guard state.ended == nil else { return false }
            push(member, &state)
            return true
        }
        guard accepted else {
            member.leaveBag()
            return false
        }
        StepDoor.pass(.listed, member.stepNumber)
        if member.confirm() == .unlink { remove(member) }
        guard isClosed, !closed.load(ordering: .relaxed) else { return true }
        // An ancestor ended meanwhile, which this list does not know of yet.
        member.leaveBag()
        return false
    }

    private func push(_ member: ScopeMember, _ state: inout State) {
        let reference = Unmanaged.passRetained(member)
        member.epoch = state.epoch
        member.previous = nil
        member.next = state.head
        if let head = state.head { head._withUnsafeGuaranteedRef { $0.previous = reference } }
        state.head = reference
        state.count += 1
    }

    fileprivate func remove(_ member: ScopeMember) {
        let reference = state.withLock { state -> Unmanaged<ScopeMember>? in
            // The list it was in has been taken away: its taker holds it and will let it go.
            guard member.epoch == state.epoch else { return nil }
            let reference = Unmanaged.passUnretained(member)
            if let previous = member.previous {
                previous._withUnsafeGuaranteedRef { $0.next = member.next }
            } else {
                state.head = member.next
            }
            if let next = member.next { next._withUnsafeGuaranteedRef { $0.previous = member.previous } }
            member.next = nil
            member.previous = nil
            member.epoch = state.epoch &- 1
            state.count -= 1
            return reference
        }
        reference?.release()
    }

    /// Whether the list was taken away after the member had left it.
    fileprivate func wasCancelled(since member: ScopeMember) -> Bool {
        // A member in the list has its epoch, one that has left it the one before; of a list that is taken the taker tells its members.
        state.withLock { member.epoch != $0.epoch && member.epoch != $0.epoch &- 1 }
    }

    /// Takes the whole list away and, for an end, closes the gate in the same step.
    private func takeAll(ending reason: CancelReason?) -> (TakenList, first: Bool) {
        state.withLock { state in
            let first = state.ended == nil
            if let reason, first {
                state.ended = reason
                closed.store(true, ordering: .sequentiallyConsistent)
            }
            let list = TakenList(head: state.head, count: state.count)
            state.head = nil
            state.count = 0
            state.epoch &+= 1
            return (list, first)
        }
    }

    /// Ends the bag for ever, and leaves those in it to a later ``end(_:)``: they call nobody any more.
    package func close(_ reason: CancelReason) {
        state.withLock { state in
            guard state.ended == nil else { return }
            state.ended = reason
            closed.store(true, ordering: .sequentiallyConsistent)
        }
    }

    /// Ends the bag for ever, and then those in it.
    package func end(_ reason: CancelReason) -> DeallocBag.CancelSummary {
        var children: [BagStorage] = []
        let summary = endAlone(reason, &children)
        Self.end(&children, reason)
        return summary
    }

    fileprivate static func end(_ bags: inout [BagStorage], _ reason: CancelReason) {
        var next = 0
        while next < bags.count {
            let bag = bags[next]
            next += 1
            _ = bag.endAlone(reason, &bags)
        }
        // The deepest first: each still has its parent then.
        while bags.popLast() != nil {}
    }

    private func endAlone(_ reason: CancelReason, _ children: inout [BagStorage]) -> DeallocBag.CancelSummary {
        let (list, _) = takeAll(ending: reason)
        guard list.count > Self.immediateTearDown else { return list.cancel(reason, &children) }
        var summary = DeallocBag.CancelSummary()
        summary.tearingDown = list.count
        list.cancelInBackground(reason)
        return summary
    }

    /// Cancels the members of this moment; the bag stays open.
    package func cancelAll(_ reason: CancelReason) -> DeallocBag.CancelSummary {
        var children: [BagStorage] = []
        let summary = takeAll(ending: nil).0.cancel(reason, &children)
        Self.end(&children, reason)
        return summary
    }

    // MARK: Waiting

    /// A run leaves the list before its last calls: it counts as work until these are over.
    func beginDelivery() { delivering.add(1, ordering: .sequentiallyConsistent) }

    func endDelivery() {
        let left = delivering.subtract(1, ordering: .sequentiallyConsistent).newValue
        guard left == 0, waiterCount.load(ordering: .sequentiallyConsistent) > 0 else { return }
        let ready = waiters.withLock { waiters in
            defer { waiters = [:] }
            return waiters
        }
        for continuation in ready.values { continuation.resume() }
    }

    /// The end of something that is under way in this bag or one in it; nil when nothing is.
    func nextEnding() -> (@Sendable () async -> Void)? {
        for member in members() {
            if let ending = member.ending ?? member.asBag?.nextEnding() { return ending }
        }
        guard delivering.load(ordering: .sequentiallyConsistent) > 0 else { return nil }
        return { [self] in await deliveriesEnd() }
    }

    private func deliveriesEnd() async {
        let waiter = Identifier.next()
        waiterCount.add(1, ordering: .sequentiallyConsistent)
        await withCheckedContinuation { continuation in
            waiters.withLock { $0[waiter] = continuation }
            // The last of them may have ended before it could see this one.
            guard delivering.load(ordering: .sequentiallyConsistent) == 0 else { return }
            waiters.withLock { $0.removeValue(forKey: waiter) }?.resume()
        }
        waiterCount.subtract(1, ordering: .sequentiallyConsistent)
    }

    package func members() -> [ScopeMember] {
        state.withLock { state in
            var members: [ScopeMember] = []
            var next = state.head
            while let reference = next {
                let member = reference.takeUnretainedValue()
                members.append(member)
                next = member.next
            }
            return members
        }
    }
}

/// A list of members that left its bag as a whole. Whoever holds it cancels and releases them.
private struct TakenList: @unchecked Sendable {
    // Safety: the links of a taken list belong to its holder (see `ScopeMember`), and it is consumed once.
    let head: Unmanaged<ScopeMember>?
    let count: Int

    /// Cancels all members on this thread, and gives the bags among them to `children`, which the caller ends.
    func cancel(_ reason: CancelReason, _ children: inout [BagStorage]) -> DeallocBag.CancelSummary {
        var summary = DeallocBag.CancelSummary()
        // One by one: each has said its last word, or handed it on, before the next is looked at.
        for piece in shutGates(reason, &summary) { piece.settle(reason, together: false, &children) }
        return summary
    }

    /// The same for very many members, on as many threads as there are cores.
    func cancelInBackground(_ reason: CancelReason) {
        WorkPool.shared.submit([
            {
                var summary = DeallocBag.CancelSummary()
                let jobs = shutGates(reason, &summary).map { piece in
                    { @Sendable in
                        var children: [BagStorage] = []
                        piece.settle(reason, together: true, &children)
                        BagStorage.end(&children, reason)
                    }
                }
                WorkPool.shared.submit(jobs)
            }
        ])
    }

    /// All members are cancelled before anything is torn down: a closure released by one may look at its siblings.
    ///
    /// - Returns: the list in pieces, with what is left to do noted in each member.
    private func shutGates(_ reason: CancelReason, _ summary: inout DeallocBag.CancelSummary) -> [TakenList] {
        StepDoor.pass(.listTaken, 0)
        var pieces: [TakenList] = []
        var next = head
        var left = count
        while let first = next {
            let size = min(left, Self.piece)
            for _ in 0..<size {
                next = next?._withUnsafeGuaranteedRef { member in
                    let (result, aftermath) = member.closeGate(reason)
                    summary.add(result)
                    member.aftermath = aftermath
                    return member.next
                }
            }
            left -= size
            pieces.append(TakenList(head: first, count: size))
        }
        StepDoor.pass(.gatesShut, 0)
        return pieces
    }

    /// The gates are closed. With `together`, members of one kind share a round of the locks, and each is let go soon after it was last looked at,
    /// while it is still in the processor's cache.
    private func settle(_ reason: CancelReason, together: Bool, _ children: inout [BagStorage]) {
        var group: (any ScopeGroup.Type)?
        var members: [ScopeMember] = []
        var next = head
        for _ in 0..<count {
            guard let member = next?.takeRetainedValue() else { break }
            next = member.next
            member.next = nil
            member.previous = nil
            if let bag = member.asBag {
                if member.aftermath != .none { children.append(bag) }
            } else if together, member.aftermath == .tearDown, let its = member.group {
                member.forgetBag()
                if its != group || members.count == Self.batch {
                    group?.tearDown(moving: &members)
                    group = its
                }
                members.append(member)
            } else {
                member.settle(member.aftermath, reason)
            }
        }
        group?.tearDown(moving: &members)
    }

    /// How many members a thread settles before it looks for other work.
    private static let piece = 4096
    /// How many members share a round of the locks.
    private static let batch = 32
}
