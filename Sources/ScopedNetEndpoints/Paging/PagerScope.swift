import ScopedNet

/// The bag of the pages that are on their way: a part of the owner's, which it does not keep alive.
///
/// ``DeallocBag/cancelAll()`` of the owner's ends its parts, and the owner's goes on: so does this, with a new part.
final class PagerScope: Sendable {
    private struct State: Sendable {
        weak var parent: DeallocBag?
        var part: DeallocBag
    }

    private let hasParent: Bool
    private let state: Lock<State>

    convenience init(in bag: DeallocBag?) { self.init(bag, hasParent: bag != nil) }

    private init(_ parent: DeallocBag?, hasParent: Bool) {
        self.hasParent = hasParent
        let part = parent.map { $0.child(label: $0.label) } ?? DeallocBag()
        state = Lock(State(parent: parent, part: part))
    }

    /// Makes one beside this, of the same owner.
    func another() -> PagerScope { PagerScope(state.withLock { $0.parent }, hasParent: hasParent) }

    /// True where the owner's bag has ended, or has gone.
    var isEnded: Bool { hasParent ? state.withLock { $0.parent }?.isEnded ?? true : false }

    /// The part that is open; one that has ended where the owner's bag has.
    var bag: DeallocBag {
        let (known, parent) = state.withLock { ($0.part, $0.parent) }
        guard known.isEnded, let parent, !parent.isEnded else { return known }
        let fresh = parent.child(label: parent.label)
        return state.withLock { state in
            // Another thread was faster: what has begun there is not to end with a part that was replaced.
            guard state.part === known else { return state.part }
            state.part = fresh
            return fresh
        }
    }
}
