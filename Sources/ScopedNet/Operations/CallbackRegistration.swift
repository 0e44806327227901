/// One of the closures of a layer's type, which is registered by calling this like a function, as those of ``Request`` are.
///
/// ```swift
/// public struct Poll<Value: Sendable>: Sendable {
///     public var onValue: CallbackRegistration<Self, Value> { CallbackRegistration(self) { callbacks.add($0) } }
/// }
/// poll.onValue { value in … }.onValue(for: self) { model, value in … }
/// ```
///
/// The layer keeps the ``Callback`` until it is called or dropped.
public struct CallbackRegistration<Target: Sendable, Payload: Sendable>: Sendable {
    private let target: Target
    private let add: @Sendable (Callback<Payload>) -> Void

    /// Makes a kind of closure.
    ///
    /// - Parameters:
    ///   - target: what each registration returns, for the next one.
    ///   - add: keeps a closure; called once for each, on the thread that registers it.
    public init(_ target: Target, _ add: @escaping @Sendable (Callback<Payload>) -> Void) {
        self.target = target
        self.add = add
    }

    /// Registers a closure. It runs on the actor where it is written, else on the session's delivery queue.
    @discardableResult
    public func callAsFunction(
        fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Payload) -> Void
    ) -> Target {
        self(Callback(fileID: fileID, line: line, body))
    }

    /// Registers a closure that gets its owner, which is held weakly; it is skipped once the owner has gone.
    @discardableResult
    public func callAsFunction<Owner: AnyObject & Sendable>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Owner, Payload) -> Void
    ) -> Target {
        self(Callback(for: owner, fileID: fileID, line: line, body))
    }

    // A tuple: see `Request.Registration`.
    /// Registers a closure that gets an owner of any class, on the actor of the code that registers it.
    @discardableResult
    public func callAsFunction<Owner: AnyObject>(
        for owner: Owner, isolation: isolated any Actor = #isolation, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping ((Owner, Payload)) -> Void
    ) -> Target {
        self(Callback(for: owner, isolation: isolation, fileID: fileID, line: line, body))
    }

    /// Registers a closure that runs inside its owner, an actor.
    @discardableResult
    public func callAsFunction<Owner: Actor>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        _ body: @escaping @Sendable (isolated Owner, Payload) -> Void
    ) -> Target {
        self(Callback(for: owner, fileID: fileID, line: line, body))
    }

    /// Registers a callback that was made elsewhere.
    @discardableResult
    public func callAsFunction(_ callback: Callback<Payload>) -> Target {
        add(callback)
        return target
    }
}
