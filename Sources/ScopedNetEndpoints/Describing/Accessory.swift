public import ScopedNet
import Synchronization

/// Hears that calls, batches and chains begin and end: a spinner, a flag that says "busy", the log of a page.
///
/// ```swift
/// let busy = Accessory.busy(Callback(for: model) { model, isBusy in model.isBusy = isBusy })
/// client.call(ListStories()).accessory(busy).onSuccess(for: model) { model, stories in model.stories = stories }.start(in: bag)
/// ```
///
/// One may serve any number of calls, of a service (``APIService/accessories``) or by itself. It hears of answers from the cache, too, of a batch or a chain
/// as a whole, and after a cancel that all is over; of each page of a list and each question of a poll by itself. Its callback runs where it belongs
/// (`Callback`), so the order beside other closures holds for those of the same executor. Each call that is told of counts as an operation of the bag.
public struct Accessory: Sendable {
    /// An event in the life of a call.
    public enum Event: Sendable, Hashable {
        /// It was started.
        case willStart
        /// Its result is handed over next. Not after a cancel.
        case willStop
        /// It is over, also after a cancel. Comes once for each ``willStart``.
        case didStop
    }

    let callback: Callback<Event>

    /// Makes an accessory that hears of each event.
    public init(_ callback: Callback<Event>) { self.callback = callback }

    /// Makes an accessory that hears `true` when the first of its calls begins, and `false` when the last one is over. For calls of several sessions give it
    /// a callback of one actor.
    public static func busy(_ callback: Callback<Bool>) -> Accessory {
        let count = Lock(0)
        return Accessory(
            callback.map { event in
                switch event {
                case .willStart:
                    count.withLock {
                        $0 += 1; return $0 == 1
                    } ? true : nil
                case .willStop: nil
                case .didStop:
                    count.withLock {
                        $0 -= 1; return $0 == 0
                    } ? false : nil
                }
            })
    }
}

/// One call of one accessory.
///
/// An operation of its own says the first and the last word: it ends with the call's bag, and by ``end()``. A call that was cancelled before the accessory
/// heard of its begin has no end for it, either.
final class AccessorySpan: Sendable {
    private enum Phase: Sendable { case ready, begun, stopping, over }

    private final class Life: Sendable {
        private let phase = Lock(Phase.ready)

        func pass(from: [Phase], to next: Phase) -> Bool {
            phase.withLock { phase in
                guard from.contains(phase) else { return false }
                phase = next
                return true
            }
        }
    }

    private let accessory: Accessory
    private let life = Life()
    private let hasBegun = Atomic<Bool>(false)
    private let operation = Lock<ScopedOperation?>(nil)

    init(_ accessory: Accessory) { self.accessory = accessory }

    /// Says that the call begins; once.
    ///
    /// - Returns: false where it has begun before.
    func begin(in bag: DeallocBag?, of session: Session, fileID: StaticString, line: Int) -> Bool {
        guard !hasBegun.exchange(true, ordering: .relaxed) else { return false }
        let didStop = accessory.callback.map { [life] (_: ScopedOperation.Outcome) -> Accessory.Event? in
            life.pass(from: [.begun, .stopping], to: .over) ? .didStop : nil
        }
        let operation = ScopedOperation(in: bag, of: session, onEnd: didStop, fileID: fileID, line: line)
        self.operation.withLock { $0 = operation }
        operation.send(
            (), to: accessory.callback.map { [life] () -> Accessory.Event? in life.pass(from: [.ready], to: .begun) ? .willStart : nil })
        return true
    }

    /// The callback for the moment before the result is handed over.
    func willStop<Value: Sendable>(_: Value.Type) -> Callback<Value> {
        accessory.callback.map { [life] _ in life.pass(from: [.begun], to: .stopping) ? .willStop : nil }
    }

    /// Says that the call has a result.
    func stop() { operation.withLock { $0 }?.send((), to: willStop(Void.self)) }

    /// Says that the call is over.
    func end() {
        operation.withLock { $0 }?.finish()
    }
}

/// The accessories of one call.
struct AccessorySpans: Sendable {
    /// Ends them when it is reached, or when nobody can reach it any more: closures are destroyed at the end, called or not.
    final class End: Sendable {
        private let spans = Lock<[AccessorySpan]>([])

        fileprivate func add(_ span: AccessorySpan) { spans.withLock { $0.append(span) } }

        func reach() {
            let reached = spans.withLock { spans in
                defer { spans = [] }
                return spans
            }
            for span in reached { span.end() }
        }

        deinit { reach() }
    }

    private var spans: [AccessorySpan] = []
    /// Nil in a copy that only says what is next.
    private(set) var end: End? = End()

    /// For those who work on the call: whoever ends it has the end.
    var withoutEnd: AccessorySpans {
        var copy = self
        copy.end = nil
        return copy
    }

    var isEmpty: Bool { spans.isEmpty }

    init(_ accessories: [Accessory] = []) { for accessory in accessories { add(accessory) } }

    mutating func add(_ accessory: Accessory) { add(AccessorySpan(accessory)) }

    mutating func add(_ span: AccessorySpan) {
        spans.append(span)
        end?.add(span)
    }

    /// - Returns: false where they have begun before.
    @discardableResult
    func begin(in bag: DeallocBag?, of session: Session, fileID: StaticString, line: Int) -> Bool {
        var hasBegun = false
        for span in spans where span.begin(in: bag, of: session, fileID: fileID, line: line) { hasBegun = true }
        return hasBegun
    }

    func stop() { for span in spans { span.stop() } }
}
