import Dispatch
import SystemSupport

/// A serial place of a test's own.
package protocol DeliveryTarget: AnyObject, Sendable {
    /// One after the other, in order, never from within.
    func schedule(_ work: @escaping @Sendable () -> Void)
}

/// The agent of a run, as that executor sees it.
package protocol SettlingAgent: AnyObject, Sendable {
    /// The run that has left the agent is gone.
    func settle(_ id: UInt64)
}

/// A run, as the executor of its callbacks sees it.
package protocol ExecutorItem: AnyObject, Sendable {
    /// Calls the callbacks that are due. On that executor.
    func deliver(_ signal: DeliveryLane.Signal)

    /// - Returns: the agent to be told that the run is gone, where this thread has just taken it out of there; nil elsewhere. Another may be at an
    ///   item of the same run: an `await` ends on the caller's thread where memory has the answer, and a cancellation on the executor.
    func takeSettling() -> (agent: any SettlingAgent, id: UInt64)?
}

/// A serial place where callbacks run: the main actor, a queue, or an actor. Work arrives in batches and runs in order.
package final class DeliveryLane: Sendable {
    /// The kind of callbacks that are due.
    package enum Signal: Sendable { case events, ending, cancelled }

    package enum Item: Sendable {
        /// The run has something to say; it knows what.
        case run(any ExecutorItem, Signal)
        case work(@Sendable () -> Void)
    }

    private enum Target: Sendable {
        case queue(DispatchQueue)
        case main
        case actor(WeakActor)
        case custom(any DeliveryTarget)
    }

    private struct State {
        var items: [Item] = []
        var isScheduled = false
        /// Room for the next batch, kept between drains.
        var spare: [Item] = []
    }

    /// A callback that is bound to an actor must not keep it alive; when it is gone, its calls are skipped where they look for it.
    private struct WeakActor: Sendable {
        weak let actor: (any Actor)?
    }

    package static let main = DeliveryLane(.main)
    /// Resumes awaiting tasks; nothing user-written runs here.
    package static let resumption = DeliveryLane(.queue(DispatchQueue(label: "scopednet.resume", attributes: .concurrent)))

    private let target: Target
    private let state = Lock(State())

    private init(_ target: Target) { self.target = target }

    convenience init(queue: DispatchQueue) { self.init(.queue(queue)) }
    convenience init(target: any DeliveryTarget) { self.init(.custom(target)) }

    /// The lane of an isolation; nil for callbacks that belong to no actor.
    package static func of(_ isolation: (any Actor)?) -> DeliveryLane? {
        guard let isolation else { return nil }
        return isolation === MainActor.shared ? main : DeliveryLane(.actor(WeakActor(actor: isolation)))
    }

    /// Moves `items` in. They are gone from the caller before any can run: when `waitUntilIdle()` returns, nobody still holds a run.
    package func enqueue(moving items: inout [Item]) {
        let schedule = state.withLock { state in
            if state.items.isEmpty {
                swap(&state.items, &items)
            } else {
                state.items.append(contentsOf: items)
                items.removeAll(keepingCapacity: true)
            }
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if schedule { self.schedule() }
    }

    package func enqueue(_ item: Item) {
        let schedule = state.withLock { state in
            state.items.append(item)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if schedule { self.schedule() }
    }

    private func schedule() {
        switch target {
        case .queue(let queue): queue.async { self.drain() }
        case .main: DispatchQueue.main.async { self.drain() }
        case .custom(let target): target.schedule { self.drain() }
        case .actor(let reference):
            guard let actor = reference.actor else { return DispatchQueue.global().async { self.drain() } }
            Task { await self.drain(on: actor) }
        }
    }

    private func drain(on actor: isolated any Actor) { drain() }

    /// How many items run before others on the same queue get a turn.
    private static let batch = 512

    private func drain() {
        var done = 0
        var items: [Item] = []
        state.withLock { swap(&items, &$0.spare) }
        while true {
            items.removeAll(keepingCapacity: true)
            let isEmpty = state.withLock { state in
                guard !state.items.isEmpty else {
                    state.isScheduled = false
                    if items.capacity <= Self.batch { swap(&items, &state.spare) }
                    return true
                }
                swap(&items, &state.items)
                return false
            }
            if isEmpty { return }
            done += items.count
            // Each item is released as soon as it has run: the last reference to a run may be here.
            for index in items.indices { Self.run(&items, index) }
            if done >= Self.batch { return schedule() }
        }
    }

    /// What resumes a task, on a thread of that task.
    package static func runHere(_ items: inout [Item]) {
        for index in items.indices { run(&items, index) }
        items.removeAll(keepingCapacity: true)
    }

    /// Takes one item out, runs it, releases it, and only then tells the agent that its run is gone.
    private static func run(_ items: inout [Item], _ index: Int) {
        let settling: (agent: any SettlingAgent, id: UInt64)?
        do {
            var item = Item.work(nothing)
            swap(&item, &items[index])
            switch item {
            case .run(let run, let signal):
                run.deliver(signal)
                settling = run.takeSettling()
            case .work(let work):
                work()
                settling = nil
            }
        }
        if let settling { settling.agent.settle(settling.id) }
    }

    private static let nothing: @Sendable () -> Void = {}
}
