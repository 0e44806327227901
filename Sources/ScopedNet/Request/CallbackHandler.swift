/// A closure and where it has to run.
///
/// An owner-passing closure holds its owner weakly and is skipped when the owner is gone (a weak load fails from the moment the owner's
/// deinit begins), so it never runs for a dying owner.
@usableFromInline package struct CallbackHandler<Payload: Sendable>: Sendable {
    /// Nil: the run's own `lane`.
    package let lane: DeliveryLane?
    package let invoke: @Sendable (Payload) -> Void
    package let origin: CodeOrigin

    package init(lane: DeliveryLane?, origin: CodeOrigin, invoke: @escaping @Sendable (Payload) -> Void) {
        self.lane = lane
        self.origin = origin
        self.invoke = invoke
    }

    package init(_ body: @escaping @Sendable @isolated(any) (Payload) -> Void, origin: CodeOrigin) {
        lane = DeliveryLane.of(body.isolation)
        self.origin = origin
        // Safety: `@isolated(any)` stores the isolation in the closure's context and changes neither its type's
        // representation nor its calling convention; `lane` runs it on exactly that isolation (the main actor's queue, or inside the
        // actor), which is what the type system would have awaited. `CallbackIsolationTests` checks it in debug and release.
        invoke = unsafeBitCast(IsolatedBody(call: body), to: PlainBody<Payload>.self).call
    }

    package init<Owner: AnyObject & Sendable>(
        owner: Owner, _ body: @escaping @Sendable @isolated(any) (Owner, Payload) -> Void, origin: CodeOrigin
    ) {
        lane = DeliveryLane.of(body.isolation)
        self.origin = origin
        // Safety: as above.
        let call = unsafeBitCast(IsolatedOwnerBody(call: body), to: PlainOwnerBody<Owner, Payload>.self).call
        let reference = WeakReference(owner)
        invoke = { payload in
            if let owner = reference.object { call(owner, payload) }
        }
    }

    /// An owner that is tied to the actor its closure was written on.
    package init<Owner: AnyObject>(
        owner: Owner, isolation: any Actor, _ body: @escaping ((Owner, Payload)) -> Void, origin: CodeOrigin
    ) {
        let closure = ActorBoundClosure(body, owner: owner, isolation: isolation)
        lane = closure.lane
        self.origin = origin
        invoke = { payload in
            // On the `lane`, and so on the actor.
            if let (owner, body) = closure.borrow() { body((owner, payload)) }
        }
    }

    package init<Owner: Actor>(
        actor owner: Owner, _ body: @escaping @Sendable (isolated Owner, Payload) -> Void, origin: CodeOrigin
    ) {
        lane = DeliveryLane.of(owner)
        self.origin = origin
        // Safety: as above; the `lane` holds the actor weakly and runs this inside it.
        let call = unsafeBitCast(body, to: (@Sendable (Owner, Payload) -> Void).self)
        let reference = WeakReference(owner)
        invoke = { payload in
            if let owner = reference.object { call(owner, payload) }
        }
    }
}

/// A handler whose payload's type its keeper knows. A lock around a value of a generic type asks the runtime for that type with every use: a third of
/// what a ``Callback`` cost.
struct UntypedHandler: Sendable {
    private let lane: DeliveryLane?
    private let body: UntypedBody
    private let origin: CodeOrigin

    init<Payload: Sendable>(_ handler: CallbackHandler<Payload>) {
        (lane, origin) = (handler.lane, handler.origin)
        body = unsafeBitCast(PlainBody(call: handler.invoke), to: UntypedBody.self)
    }

    /// The handler as it was given. `Payload` is that of ``init(_:)``.
    func typed<Payload: Sendable>() -> CallbackHandler<Payload> {
        // Safety: a closure is a function and a context whatever it takes, and this one is not called before it has the type again that it came with.
        // `Callback<Value>`, its only user, puts in and takes out handlers of `Value` alone.
        CallbackHandler(lane: lane, origin: origin, invoke: unsafeBitCast(body, to: PlainBody<Payload>.self).call)
    }
}

// A closure that is cast by itself is wrapped twice, once to look like any type and once to be a closure again: two allocations a callback.
// As the only property of a struct it is cast as it is.
private struct IsolatedBody<Payload: Sendable> {
    let call: @Sendable @isolated(any) (Payload) -> Void
}
private struct PlainBody<Payload: Sendable> {
    let call: @Sendable (Payload) -> Void
}
private struct UntypedBody: Sendable {
    let call: @Sendable () -> Void
}
private struct IsolatedOwnerBody<Owner: AnyObject & Sendable, Payload: Sendable> {
    let call: @Sendable @isolated(any) (Owner, Payload) -> Void
}
private struct PlainOwnerBody<Owner: AnyObject & Sendable, Payload: Sendable> {
    let call: @Sendable (Owner, Payload) -> Void
}

/// Most kinds of callback are registered once or never: no array for those.
package enum HandlerList<Payload: Sendable>: Sendable {
    case none
    case one(CallbackHandler<Payload>)
    case many([CallbackHandler<Payload>])

    package mutating func append(_ callback: CallbackHandler<Payload>) {
        switch self {
        case .none: self = .one(callback)
        case .one(let first): self = .many([first, callback])
        case .many(let all): self = .many(all + [callback])
        }
    }

    @inline(__always)
    package func forEach(_ body: (CallbackHandler<Payload>) -> Void) {
        switch self {
        case .none: break
        case .one(let callback): body(callback)
        case .many(let callbacks): callbacks.forEach(body)
        }
    }

    /// Nil past the last one.
    package subscript(number: Int) -> CallbackHandler<Payload>? {
        switch self {
        case .none: nil
        case .one(let callback): number == 0 ? callback : nil
        case .many(let callbacks): number < callbacks.count ? callbacks[number] : nil
        }
    }

    package var isEmpty: Bool { if case .none = self { true } else { false } }

    package var firstLane: DeliveryLane? {
        switch self {
        case .none: nil
        case .one(let callback): callback.lane
        case .many(let callbacks): callbacks.lazy.compactMap(\.lane).first
        }
    }

    /// True when every callback may run on `lane`.
    package func fits(_ lane: DeliveryLane) -> Bool {
        func fits(_ callback: CallbackHandler<Payload>) -> Bool { callback.lane == nil || callback.lane === lane }
        return switch self {
        case .none: true
        case .one(let callback): fits(callback)
        case .many(let callbacks): callbacks.allSatisfy(fits)
        }
    }
}
