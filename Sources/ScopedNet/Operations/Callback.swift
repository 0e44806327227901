import SystemSupport

/// A closure with the actor and the owner it belongs to, for layers that take closures from their users: to be called once, or dropped.
///
/// It is called on its actor, or, where it belongs to none, on the delivery queue of the session; never from within the function that it is given to, and
/// never under a lock. With an owner it is handed the owner, which it does not keep alive, and is skipped from the moment the owner's deinit begins.
/// ``ScopedOperation`` admits each call just before it is made: after a cancel there is none.
///
/// The closure, with what it has captured, is destroyed when it has been called once by ``ScopedOperation/finish(with:to:)``, at
/// ``discard()``, or with this object, whichever comes first; outside all locks, and on its actor where the owner is tied to one.
public final class Callback<Value: Sendable>: Sendable {
    private let handler: Lock<UntypedHandler?>

    init(_ handler: CallbackHandler<Value>) { self.handler = Lock(UntypedHandler(handler)) }

    /// One that was discarded.
    private init() { handler = Lock(nil) }

    /// Makes a callback of a closure, which runs on its own isolation.
    public convenience init(
        fileID: StaticString = #fileID, line: Int = #line, @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Value) -> Void
    ) {
        self.init(CallbackHandler(body, origin: CodeOrigin(fileID, line)))
    }

    /// Makes a callback of a closure that is handed its owner.
    public convenience init<Owner: AnyObject & Sendable>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Owner, Value) -> Void
    ) {
        self.init(CallbackHandler(owner: owner, body, origin: CodeOrigin(fileID, line)))
    }

    // Tuples: see `Request+Closures.swift`.
    /// Makes a callback of a closure that is handed its owner, which is tied to the actor this is called on.
    public convenience init<Owner: AnyObject>(
        for owner: Owner, isolation: isolated any Actor = #isolation, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping ((Owner, Value)) -> Void
    ) {
        self.init(CallbackHandler(owner: owner, isolation: isolation, body, origin: CodeOrigin(fileID, line)))
    }

    /// Makes a callback of a closure that runs inside its owner, an actor.
    public convenience init<Owner: Actor>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping @Sendable (isolated Owner, Value) -> Void
    ) {
        self.init(CallbackHandler(actor: owner, body, origin: CodeOrigin(fileID, line)))
    }

    /// Makes a callback for another kind of value, which calls this one with what `transform` makes of it, and does not where that is nil.
    ///
    /// It runs where this one does, `transform` just before it. One that is spent, or discarded before the call, is not called.
    public func map<Other: Sendable>(_ transform: @escaping @Sendable (Other) -> Value?) -> Callback<Other> {
        guard let handler = current else { return Callback<Other>() }
        return Callback<Other>(
            CallbackHandler(lane: handler.lane, origin: handler.origin) { other in
                // Asked for again: it may be gone by then.
                if let handler = self.current, let value = transform(other) { handler.invoke(value) }
            })
    }

    /// Destroys the closure without calling it. Idempotent, any thread.
    public func discard() { _ = take() }

    /// True once the closure was taken for its last call, or destroyed.
    public var isSpent: Bool { handler.withLock { $0 == nil } }

    /// The closure, which stays.
    var current: CallbackHandler<Value>? { handler.withLock { $0 }?.typed() }

    /// The closure, for its last call.
    func take() -> CallbackHandler<Value>? {
        let taken = handler.withLock { handler in
            defer { handler = nil }
            return handler
        }
        return taken?.typed()
    }
}
