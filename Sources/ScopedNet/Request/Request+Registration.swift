extension Request {
    /// One of the closures of a request, which is registered by calling this like a function.
    ///
    /// ```swift
    /// request.onSuccess { value in … }
    /// request.onSuccess(for: self) { model, value in … }
    /// ```
    ///
    /// Each call arms the next start; several closures of one kind are called in their order. They are destroyed once they were called, or can no
    /// longer be.
    public struct Registration<Payload: Sendable>: Sendable {
        let request: Request
        let add: @Sendable (inout RunHandlers, CallbackHandler<Payload>) -> Void

        /// Registers a closure. It runs on the actor where it is written, else on the session's delivery queue.
        public func callAsFunction(
            fileID: StaticString = #fileID, line: Int = #line,
            @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Payload) -> Void
        ) -> Request {
            arm(CallbackHandler(body, origin: CodeOrigin(fileID, line)))
        }

        /// Registers a closure that gets its owner, which is held weakly; it is skipped once the owner has gone.
        public func callAsFunction<Owner: AnyObject & Sendable>(
            for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
            @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Owner, Payload) -> Void
        ) -> Request {
            arm(CallbackHandler(owner: owner, body, origin: CodeOrigin(fileID, line)))
        }

        // A tuple, so that the compiler weighs this closure like those that are `@isolated(any)` and the owner's being Sendable decides between the
        // two; closures with two parameters are written for either.
        /// Registers a closure that gets an owner of any class, on the actor of the code that registers it.
        public func callAsFunction<Owner: AnyObject>(
            for owner: Owner, isolation: isolated any Actor = #isolation, fileID: StaticString = #fileID, line: Int = #line,
            _ body: @escaping ((Owner, Payload)) -> Void
        ) -> Request {
            arm(CallbackHandler(owner: owner, isolation: isolation, body, origin: CodeOrigin(fileID, line)))
        }

        /// Registers a closure that runs inside its owner, an actor.
        public func callAsFunction<Owner: Actor>(
            for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
            _ body: @escaping @Sendable (isolated Owner, Payload) -> Void
        ) -> Request {
            arm(CallbackHandler(actor: owner, body, origin: CodeOrigin(fileID, line)))
        }

        /// The same closures, given another value: what `transform` makes of each payload, where the closure runs and just before it.
        public func map<Other: Sendable>(
            _ transform: @escaping @Sendable (Payload) -> Other
        ) -> Request<Value>.Registration<Other> {
            Request<Value>.Registration<Other>(request: request) { [add] handlers, callback in
                let invoke = callback.invoke
                add(&handlers, CallbackHandler(lane: callback.lane, origin: callback.origin) { invoke(transform($0)) })
            }
        }

        func arm(_ callback: CallbackHandler<Payload>) -> Request {
            keep(callback)
            return request
        }

        @usableFromInline func keep(_ callback: CallbackHandler<Payload>) { request.arm { add(&$0, callback) } }
    }
}
