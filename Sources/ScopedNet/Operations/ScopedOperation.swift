/// Work of several steps that belongs to an owner as a request does: a batch, a chain, a picture, a connection.
///
/// From the moment it is made, the agent of its session keeps it until it has ended, and its bag, which it does not keep alive, cancels it: first nothing
/// of it is called any more, on any thread, and then its steps are ended. It ends once, by ``finish(with:to:)`` or by a cancel, and counts for
/// ``RequestAgent/waitUntilIdle()``, ``DeallocBag/waitUntilIdle()``, `cancelAll(tag:)` and leak tests until then.
///
/// ```swift
/// extension Session {
///     /// Loads two feeds, and hands both over at once.
///     func merged(_ first: String, _ second: String, in bag: DeallocBag, _ done: Callback<[Feed]>) -> ScopedOperation {
///         let operation = ScopedOperation(in: bag, of: self) { _ in done.discard() }
///         operation.steps.task { [self] in
///             do {
///                 async let left = get(first, as: Feed.self).value()
///                 async let right = get(second, as: Feed.self).value()
///                 operation.finish(with: try await [left, right], to: done)
///             } catch { operation.finish(throwing: error) }
///         }
///         return operation
///     }
/// }
/// ```
///
/// Requests, tasks and anything else with a cancel method go into ``steps``, which end with the operation and for its reason. Dropping this object
/// changes nothing. Any thread may use it; nothing here blocks.
public final class ScopedOperation: Sendable {
    let core: OperationCore

    /// Begins an operation.
    ///
    /// - Parameters:
    ///   - bag: its owner's; nil for an operation that belongs to nobody. In an ended bag it is cancelled at once, and `onCancel` is called before this returns.
    ///   - session: names agent and delivery queue; its ``Session/shutdown(cancelling:)`` concerns the operation, too.
    ///   - tag: for ``RequestAgent/cancelAll(tag:reason:)``. Default: none.
    ///   - onEnd: told how it ended, after everything else, also after a cancel; taken by this operation alone. Default: nothing.
    ///   - fileID: the file of the call, which leak tests name, with `line`.
    ///   - line: the line of the call.
    ///   - onCancel: called once when it is cancelled, after ``steps`` were ended, on the thread that cancels it, or, during a call of it, on that call's executor
    ///     when it has returned: stop what is no step, drop closures, and return at once. Destroyed at the end, called or not.
    public init(
        in bag: DeallocBag? = nil, of session: Session, tag: String? = nil, onEnd: Callback<Outcome>? = nil,
        fileID: StaticString = #fileID, line: Int = #line, onCancel: @escaping @Sendable (CancelReason) -> Void = { _ in }
    ) {
        core = OperationCore(
            session: session, scope: bag?.storage, tag: tag, origin: CodeOrigin(fileID, line), onEnd: onEnd?.take(), onCancel: onCancel)
        core.ticket?.noteHandle(1)
        core.begin(in: bag?.storage)
    }

    init(
        id: UInt64 = Identifier.next(), in scope: BagStorage?, of session: Session, _ origin: CodeOrigin, tag: String? = nil,
        onEnd: Callback<Outcome>? = nil, onCancel: @escaping @Sendable (CancelReason) -> Void
    ) {
        core = OperationCore(
            id: id, session: session, scope: scope, tag: tag, origin: origin, onEnd: onEnd?.take(), onCancel: onCancel)
        core.ticket?.noteHandle(1)
        core.begin(in: scope)
    }

    deinit { core.ticket?.noteHandle(-1) }

    /// Unique in the process, among runs and operations.
    public var id: UInt64 { core.id }

    /// The tag of `init`.
    public var tag: String? { core.tag }

    /// The bag for what the operation consists of. It ends with the operation; what is put in later is cancelled at once.
    public var steps: DeallocBag { core.steps }

    /// False once it was cancelled or has ended: what is begun now reaches nobody.
    public var isRunning: Bool { core.isRunning }

    /// Ends the operation; the answer says what that achieved, as that of ``Run/cancel()``. Idempotent, any thread.
    @discardableResult
    public func cancel() -> Run.CancelResult { Run.CancelResult(core.cancel(.explicit)) }

    /// Calls a callback that stays for further calls, such as one for progress, unless the operation is over by then. All calls of an operation are made in
    /// the order in which they were asked for, one after the other, whatever executors they belong to.
    public func send<Value>(_ value: Value, to callback: Callback<Value>) {
        guard core.isRunning, let handler = callback.current else { return }
        core.call(on: handler.lane) { handler.invoke(value) }
    }

    /// Ends the operation as succeeded, with one last call.
    ///
    /// The call loses to a cancel that comes before it begins: then the operation was cancelled, and the closure is destroyed without a call. Of several
    /// that finish it the first one counts.
    public func finish<Value>(with value: Value, to callback: Callback<Value>) { finish(.succeeded, value, callback.take()) }

    /// Ends the operation as succeeded, with no call but that of `onEnd`.
    public func finish() { core.finish(.succeeded, on: nil) {} }

    /// Ends the operation as failed, with one last call, as ``finish(with:to:)`` does.
    public func finish<Failure: Error>(throwing error: Failure, to callback: Callback<Failure>) {
        finish(.failed(error), error, callback.take())
    }

    /// Ends the operation as failed, with no call but that of `onEnd`.
    public func finish(throwing error: any Error) { core.finish(.failed(error), on: nil) {} }

    func finish<Value>(_ outcome: Outcome, _ value: Value, _ handler: CallbackHandler<Value>?) {
        core.finish(outcome, on: handler?.lane) { handler?.invoke(value) }
    }

    /// Returns how it ended once it has, and nothing of it is called any more.
    ///
    /// Not for its own closures and steps, which it would wait for. A cancel of the waiting task does not end the wait.
    public func outcome() async -> Outcome {
        await core.session.agent.ended(core)
        return core.outcome ?? .cancelled(core.reason)
    }
}

extension ScopedOperation {
    /// The end of an operation.
    public enum Outcome: Sendable {
        /// It was finished, and its last call was made.
        case succeeded
        /// It was finished with an error, and its last call was made.
        case failed(any Error)
        /// It was cancelled for this reason; no other call than that of `onEnd` was made.
        case cancelled(CancelReason)
    }
}
