public import ScopedNet

/// Several calls at once, with one end: all of their values, or the first failure, which stops the others. Made by ``APIClient``.
///
/// ```swift
/// client.batch(of: ids.map { GetStory(id: $0) }, atMost: 4)
///     .onProgress(for: self) { model, progress in model.fraction = progress.fraction }
///     .onSuccess(for: self) { model, stories in model.stories = stories }
///     .onFailure(for: self) { model, failure in model.problem = failure.error }
///     .start(in: bag)
/// ```
///
/// From its start it is a `ScopedOperation`: the agent keeps it, its bag ends it and all of its calls, and after a cancel nothing of it is called any more.
/// It is started once. Closures run where they were written, one of each kind: a later one takes its place, and one that comes behind the start is not
/// called. They are destroyed when they can no longer be called.
public final class Batch<Value: Sendable, Failure: Error>: Sendable {
    typealias Callbacks = GroupCallbacks<Value, Failure>

    private let session: Session
    private let members: [BatchMember<Failure>]
    private let assemble: @Sendable () throws -> Value
    private let machine: Lock<BatchMachine>
    private let callbacks: Lock<Callbacks>

    init(
        _ session: Session, _ members: [BatchMember<Failure>], limit: Int, collectsFailures: Bool = false, accessories: [Accessory],
        assemble: @escaping @Sendable () throws -> Value
    ) {
        self.session = session
        self.members = members
        self.assemble = assemble
        machine = Lock(BatchMachine(count: members.count, limit: limit, collectsFailures: collectsFailures))
        callbacks = Lock(Callbacks(spans: AccessorySpans(accessories)))
    }

    /// Told of each member that has ended.
    public var onProgress: CallbackRegistration<Batch, GroupProgress> { registration { $0.progress = $1 } }
    /// The values, in the order of the calls.
    public var onSuccess: CallbackRegistration<Batch, Value> { registration { $0.success = $1 } }
    /// The first failure; the other calls are cancelled. Not after a cancel.
    public var onFailure: CallbackRegistration<Batch, GroupFailure<Failure>> { registration { $0.failure = $1 } }
    /// The end, after everything else, also after a cancel.
    public var onEnd: CallbackRegistration<Batch, ScopedOperation.Outcome> { registration { $0.end = $1 } }

    /// Sets the delegate, called on the actor this is called from. Held weakly.
    @discardableResult
    public func delegate<Delegate: CallGroupDelegate>(_ delegate: Delegate, isolation: isolated any Actor = #isolation) -> Batch {
        let callback = Callback<Callbacks.Event>(for: delegate, isolation: isolation) { delegate, event in event.tell(delegate) }
        change { $0.delegate = callback }
        return self
    }

    /// Sets a delegate from code that runs on no actor: it is called on the session's delivery queue. Held weakly.
    @discardableResult
    public func delegate<Delegate: CallGroupDelegate & Sendable>(sendable delegate: Delegate) -> Batch {
        let callback = Callback<Callbacks.Event>(for: delegate) { delegate, event in event.tell(delegate) }
        change { $0.delegate = callback }
        return self
    }

    /// Adds an accessory. It hears of the batch as a whole, and not of its calls.
    @discardableResult
    public func accessory(_ accessory: Accessory) -> Batch {
        change { $0.spans.add(accessory) }
        return self
    }

    /// Starts all calls, or as many as may be under way at a time. A batch without calls succeeds.
    ///
    /// - Parameters:
    ///   - bag: ends it; nil for a batch that belongs to nobody.
    ///   - tag: for `RequestAgent.cancelAll(tag:reason:)`. Default: none.
    ///   - fileID: the file of the call, which leak tests name, with `line`.
    ///   - line: the line of the call.
    /// - Returns: the operation, to cancel it or to wait for its end; nil for a batch that was started before, which goes on.
    @discardableResult
    public func start(
        in bag: DeallocBag? = nil, tag: String? = nil, fileID: StaticString = #fileID, line: Int = #line
    ) -> ScopedOperation? {
        guard let steps = machine.withLock({ $0.start() }) else { return nil }
        let callbacks = callbacks.withLock { callbacks in
            defer { callbacks = Callbacks(isStarted: true) }
            return callbacks
        }
        callbacks.spans.begin(in: bag, of: session, fileID: fileID, line: line)
        let operation = ScopedOperation(in: bag, of: session, tag: tag, onEnd: callbacks.end, fileID: fileID, line: line) {
            [self, end = callbacks.spans.end] _ in
            machine.withLock { $0.cancel() }
            callbacks.discard()
            end?.reach()
        }
        let run = BatchRun(batch: self, operation: operation, callbacks: callbacks)
        run.take { steps }
        return operation
    }

    private func registration<Payload: Sendable>(
        _ set: @escaping @Sendable (inout Callbacks, Callback<Payload>) -> Void
    ) -> CallbackRegistration<Batch, Payload> {
        CallbackRegistration(self) { [self] callback in change { set(&$0, callback) } }
    }

    private func change(_ change: (inout Callbacks) -> Void) {
        let old = callbacks.withLock { callbacks in
            defer { if !callbacks.isStarted { change(&callbacks) } }
            return callbacks
        }
        // A closure that was replaced is let go outside the lock.
        _ = old
    }

    // MARK: Under way

    /// One start: what its members report, in order.
    private final class BatchRun: Sendable {
        private let batch: Batch
        private let operation: ScopedOperation
        private let callbacks: Callbacks
        private let errors = Lock<[Int: Failure]>([:])
        private let line = StepLine<BatchMachine.Step>()

        init(batch: Batch, operation: ScopedOperation, callbacks: Callbacks) {
            self.batch = batch
            self.operation = operation
            var callbacks = callbacks
            callbacks.spans = callbacks.spans.withoutEnd
            self.callbacks = callbacks
        }

        func take(_ decide: () -> [BatchMachine.Step]) { line.take(decide) { act($0) } }

        private func act(_ step: BatchMachine.Step) {
            switch step {
            case .begin(let index): begin(index)
            case .report(let count): callbacks.report(GroupProgress(ended: count, total: batch.members.count), to: operation)
            case .succeed:
                // Each member that has ended has left its value.
                do { callbacks.succeed(with: try batch.assemble(), operation) } catch { operation.finish(throwing: error) }
            case .fail(let index):
                guard let error = errors.withLock({ $0[index] }) else { return }
                // At once: their closures' executor may be busy for long.
                operation.steps.cancelAll()
                callbacks.fail(with: GroupFailure(index: index, name: batch.members[index].endpoint, error: error), operation)
            }
        }

        private func begin(_ index: Int) {
            let member = batch.members[index]
            operation.steps.task { [self] in
                let failure = await member.send(operation.steps)
                // One that was cancelled by itself, such as by an interceptor, takes the whole with it: there is nothing to tell. After a failure the
                // others are cancelled by the batch, which has that to tell.
                if failure?.isCancelled == true {
                    if batch.machine.withLock({ $0.isEnded(byCancelOf: index) }) { operation.cancel() }
                    return
                }
                if let failure { errors.withLock { $0[index] = failure.error } }
                take { batch.machine.withLock { $0.memberEnded(index, failed: failure != nil) } }
            }
        }
    }
}

/// One call of a batch. It leaves its value where the batch finds it, and returns its failure.
struct BatchMember<Failure: Error>: Sendable {
    let endpoint: String
    let send: @Sendable (DeallocBag) async -> CallFailure<Failure>?
}
