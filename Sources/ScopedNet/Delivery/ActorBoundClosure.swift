import Dispatch

/// A closure that may not leave its actor, although the one who holds it may be on any thread.
///
/// Such a closure can capture anything the actor's code can touch, and so it is destroyed on the actor, too: at once where
/// the main actor lets go of it itself, else as the actor's next piece of work.
package final class ActorBoundClosure<Owner: AnyObject, Body>: @unchecked Sendable {
    // Safety: `content` is written once, read only by `borrow`, whose callers run on the actor, and released there. The weak references are
    // constant; loading them is atomic.
    private final class Content {
        let body: Body
        init(_ body: Body) { self.body = body }
    }

    // Safety: one reference, taken in `init` and given back in `deinit`, on the actor.
    private let content: Unmanaged<Content>
    private weak let isolation: (any Actor)?
    private weak let owner: Owner?
    package let lane: DeliveryLane

    package init(_ body: Body, owner: Owner, isolation: any Actor) {
        content = .passRetained(Content(body))
        self.owner = owner
        self.isolation = isolation
        lane = DeliveryLane.of(isolation) ?? .main
    }

    deinit {
        // The closure that gives the reference back holds none itself: whichever of two is destroyed later does not matter.
        nonisolated(unsafe) let content = content
        if lane === DeliveryLane.main, MainQueue.isCurrent { return content.release() }
        lane.enqueue(.work { content.release() })
    }

    /// The actor, nil when it is gone.
    package var actor: (any Actor)? { isolation }

    /// The closure and its owner, for a caller that runs on the actor; nil when the owner or the actor is gone.
    package func borrow() -> (owner: Owner, body: Body)? {
        guard isolation != nil, let owner else { return nil }
        return (owner, content._withUnsafeGuaranteedRef { $0.body })
    }
}

/// The queue of the main actor.
private enum MainQueue {
    private static let key: DispatchSpecificKey<Void> = {
        let key = DispatchSpecificKey<Void>()
        DispatchQueue.main.setSpecific(key: key, value: ())
        return key
    }()

    /// True in work of the main queue. False elsewhere, and in a program's top-level code.
    static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) != nil }
}
