public import ScopedNet

extension Batch {
    /// One of the closures of a batch, which is registered by calling this like a function. See ``Request/Registration``.
    public struct Registration<Payload: Sendable>: Sendable {
        let batch: Batch
        let set: @Sendable (inout Closures, Callback<Payload>) -> Void

        /// Registers a closure. It runs on the actor where it is written, else on the session's delivery queue.
        public func callAsFunction(
            fileID: StaticString = #fileID, line: Int = #line,
            @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Payload) -> Void
        ) -> Batch {
            register(Callback(fileID: fileID, line: line, body))
        }

        /// Registers a closure that gets its owner, which is held weakly; it is skipped once the owner has gone.
        public func callAsFunction<Owner: AnyObject & Sendable>(
            for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
            @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Owner, Payload) -> Void
        ) -> Batch {
            register(Callback(for: owner, fileID: fileID, line: line, body))
        }

        /// Registers a closure that gets an owner of any class, on the actor of the code that registers it.
        public func callAsFunction<Owner: AnyObject>(
            for owner: Owner, isolation: isolated any Actor = #isolation, fileID: StaticString = #fileID, line: Int = #line,
            _ body: @escaping ((Owner, Payload)) -> Void
        ) -> Batch {
            register(Callback(for: owner, isolation: isolation, fileID: fileID, line: line, body))
        }

        /// Registers a closure that runs inside its owner, an actor.
        public func callAsFunction<Owner: Actor>(
            for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
            _ body: @escaping @Sendable (isolated Owner, Payload) -> Void
        ) -> Batch {
            register(Callback(for: owner, fileID: fileID, line: line, body))
        }

        private func register(_ callback: Callback<Payload>) -> Batch {
            batch.register { set(&$0, callback) }
            return batch
        }
    }
}
