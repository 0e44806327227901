import ScopedNet
import SystemSupport

/// The present work of a slot, and its closures: both go at a cancel, on any thread, and nothing is begun once the bag has ended.
final class SlotWork<Content: Sendable>: Cancellable {
    private struct State: Sendable {
        var number: UInt64 = 0
        var content: Content?
        var work: (any Cancellable)?
        var isEnded = false
    }

    private let state = Lock(State())

    /// True once the bag of the slot has ended.
    var isEnded: Bool { state.withLock { $0.isEnded } }

    /// The content of the work that goes on; nil where none does.
    var content: Content? { state.withLock { $0.content } }

    /// Replaces the work; the former is cancelled.
    ///
    /// - Returns: the number of the work; nil where the bag has ended.
    func begin(_ content: Content) -> UInt64? {
        guard let (number, former) = replace(content) else { return nil }
        former?.cancel()
        return number
    }

    /// Replaces the work, of which nothing counts any more.
    ///
    /// - Returns: the number of the work, and the former one for the caller to cancel; nil where the bag has ended.
    func replace(_ content: Content) -> (number: UInt64, former: (any Cancellable)?)? {
        let former = state.withLock { state -> State? in
            guard !state.isEnded else { return nil }
            let former = state
            state = State(number: former.number + 1, content: content)
            return former
        }
        return former.map { ($0.number + 1, $0.work) }
    }

    /// Keeps what cancels the work, which may have ended or been replaced by now.
    func set(_ work: any Cancellable, of number: UInt64) {
        let isCurrent = state.withLock { state in
            guard state.number == number, state.content != nil else { return false }
            state.work = work
            return true
        }
        if !isCurrent { work.cancel() }
    }

    /// The content, where the work with this number goes on.
    func content(of number: UInt64) -> Content? { state.withLock { $0.number == number ? $0.content : nil } }

    /// Changes the content of the work that goes on.
    func replaceContent(_ content: Content) {
        // The former closures are destroyed outside the lock.
        let former = state.withLock { state -> Content? in
            guard let former = state.content else { return nil }
            state.content = content
            return former
        }
        withExtendedLifetime(former) {}
    }

    /// Calls `body` with what cancels the work.
    func withWork(_ body: (any Cancellable) -> Void) {
        if let work = state.withLock({ $0.work }) { body(work) }
    }

    /// Ends the work with this number, which has come to its own end.
    ///
    /// - Returns: its content; nil where it is over already.
    func end(_ number: UInt64) -> Content? {
        let former = state.withLock { state -> State? in
            guard state.number == number, state.content != nil else { return nil }
            let former = state
            (state.content, state.work) = (nil, nil)
            return former
        }
        return former?.content
    }

    /// Cancels the work, and destroys its closures: at once on the main queue, and else on the main actor soon, as what they have captured is its own.
    func cancel() {
        let (work, closures) = state.withLock { state -> ((any Cancellable)?, FormerContent<Content>?) in
            defer { (state.content, state.work) = (nil, nil) }
            return (state.work, state.content.map(FormerContent.init))
        }
        work?.cancel()
        guard let closures else { return }
        if MainQueue.isCurrent { closures.destroy() } else { DeliveryLane.main.enqueue(.work { closures.destroy() }) }
    }

    /// Cancels for good.
    func end() {
        state.withLock { $0.isEnded = true }
        cancel()
    }
}

/// Closures that wait for the main thread to be destroyed on. Whoever else refers to this does not refer to them.
private final class FormerContent<Content: Sendable>: Sendable {
    private let content: Lock<Content?>

    init(_ content: Content) { self.content = Lock(content) }

    func destroy() {
        let content = content.withLock { content in
            defer { content = nil }
            return content
        }
        withExtendedLifetime(content) {}
    }
}

/// The life of a slot's work: it ends with this object, which the slot holds, or with a bag.
final class SlotScope<Content: Sendable>: Sendable {
    let work = SlotWork<Content>()
    private let token: DeallocBag.Token?

    init(in bag: DeallocBag?) { token = bag?.insert(AnyCancellable { [work] in work.end() }) }

    deinit {
        token?.remove()
        work.end()
    }
}
