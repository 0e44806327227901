#if DEBUG
import ScopedNet
import Synchronization
import SystemSupport

@testable import ScopedNetImages

/// The ways in which a load ends before its picture is there.
enum ImageEnding: CaseIterable, Sendable { case cancel, bag, tag, receipt, agent, task }

/// A value that a test and the visitor of a step share.
final class Slot<Value: Sendable>: Sendable {
    private let lock: Lock<Value>
    init(_ value: Value) { lock = Lock(value) }
    var value: Value { lock.withLock { $0 } }

    /// The old value is let go outside the lock.
    @discardableResult
    func set(_ value: Value) -> Value {
        lock.withLock { old in
            defer { old = value }
            return old
        }
    }
}

/// A load that a test ends in one of the ways, at the moment of its choice and once.
final class EndedLoad: Sendable {
    /// The tag of its request.
    static let tag = "pictures"

    let load: ImageLoad
    private let ending: ImageEnding
    private let agent: RequestAgent
    private let bag: Slot<DeallocBag?>
    private let receipt = Slot<ImageReceipt?>(nil)
    private let task = Slot<Task<Void, Never>?>(nil)
    private let count = Atomic<Int>(0)

    /// Begins the load of a call whose request has the tag.
    init(_ call: ImageCall, by ending: ImageEnding, of session: Session) {
        let bag = ending == .bag ? DeallocBag() : nil
        let load = call.begin(in: bag)
        (self.load, self.ending, agent, self.bag) = (load, ending, session.agent, Slot(bag))
        if ending == .receipt { receipt.set(ImageReceipt(load)) }
        guard ending == .task else { return }
        let waiting = Task {
            await withTaskCancellationHandler {
                _ = await load.operation.outcome()
            } onCancel: {
                load.operation.cancel()
            }
        }
        task.set(waiting)
    }

    /// Times that it was ended: one, or none where the moment never came.
    var endings: Int { count.load(ordering: .relaxed) }

    /// Ends it, the first time.
    func end() {
        guard count.compareExchange(expected: 0, desired: 1, ordering: .relaxed).exchanged else { return }
        switch ending {
        case .cancel: load.operation.cancel()
        case .bag: bag.set(nil)
        case .tag: agent.cancelAll(tag: Self.tag)
        case .receipt: receipt.set(nil)
        case .agent: agent.cancelAll()
        case .task: task.value?.cancel()
        }
    }

    /// Has it ended when it comes by a step.
    ///
    /// - Returns: the number of the visitor, for `StepDoor.remove(_:)`.
    func end(at step: Step) -> Int {
        let number = load.number
        return StepDoor.add { [self] taken, current in if taken == step, current == number { end() } }
    }
}
#endif
