/// Several steps for an owner, and waiting for what a bag holds.
extension DeallocBag {
    /// Runs several steps for an owner, and hands the owner their value.
    ///
    /// ```swift
    /// deallocBag.task(for: self, isRunning: \.isLoading) { [session, id] in
    ///     let story = try await session.get("item/\(id)", as: Story.self).value()
    ///     return try await (story, session.values(of: story.kids.map { session.get("item/\($0)", as: Comment.self) }))
    /// } onSuccess: { model, page in
    ///     (model.story, model.comments) = page
    /// } onFailure: { model, error in
    ///     model.message = error.localizedDescription
    /// }
    /// ```
    ///
    /// Steps and closures run on the actor this is called on. The owner is held weakly; capture in the steps what they need of it, not itself, or
    /// it lives until they end. Requests that the steps await belong to this bag. When the bag ends the task is cancelled, and neither closure is
    /// called, nor when the owner is gone. Call it on an actor that is not the owner: an actor is kept by its own tasks.
    ///
    /// - Parameters:
    ///   - owner: the object that the closures are handed.
    ///   - isRunning: true from now until the steps have ended, also by a cancel, as long as the owner is there; those of the last task, where
    ///     several have the same. Default: nil.
    ///   - isolation: the actor of the caller, where steps and closures run.
    ///   - priority: the task's; the caller's by default.
    ///   - steps: may throw anything.
    ///   - onSuccess: called once with their value.
    ///   - onFailure: called once with their error, unless that is a cancellation. Default: nothing.
    /// - Returns: the task, to cancel it or to wait for it; it ends after the closure.
    @discardableResult
    public func task<Owner: AnyObject, Value>(
        for owner: Owner, isRunning: ReferenceWritableKeyPath<Owner, Bool>? = nil, isolation: isolated any Actor = #isolation,
        priority: TaskPriority? = nil, _ steps: @escaping () async throws -> Value, onSuccess: @escaping (Owner, Value) -> Void,
        onFailure: @escaping (Owner, any Error) -> Void = { _, _ in }
    ) -> Task<Void, Never> {
        let part = isRunning.map { RunningFlags.begin(owner, $0, on: ObjectIdentifier(isolation)) }
        if let isRunning { owner[keyPath: isRunning] = true }
        let storage = storage
        return task(priority: priority) { [weak owner] in
            // The closure belongs to the actor, and so may what it has captured.
            _ = isolation
            let result: Result<Value, any Error>
            do { result = .success(try await steps()) } catch { result = .failure(error) }
            let isLast = part.map { RunningFlags.end($0) } ?? false
            guard let owner else { return }
            if let isRunning, let part, isLast { Self.lower(isRunning, part, owner, on: ObjectIdentifier(isolation)) }
            guard !storage.isClosed, !Task.isCancelled else { return }
            switch result {
            case .success(let value): onSuccess(owner, value)
            case .failure(let error): if !error.isCancellation { onFailure(owner, error) }
            }
        }
    }

    /// The last task of a flag has ended.
    private static func lower<Owner: AnyObject>(
        _ path: ReferenceWritableKeyPath<Owner, Bool>, _ part: RunningFlags.Part, _ owner: Owner, on actor: ObjectIdentifier
    ) {
        // A class and its subclass have two key paths for one property, and nothing but its value tells that they are the same.
        let others = RunningFlags.others(than: part, on: actor).filter { owner[keyPath: $0] as? Bool == true }
        owner[keyPath: path] = false
        if others.contains(where: { owner[keyPath: $0] as? Bool == false }) { owner[keyPath: path] = true }
    }

    /// Returns when no request and no task of this bag, or of a bag in it, is under way, and the closures of those that have ended by
    /// themselves were called.
    ///
    /// Between two steps of a task the task is under way. Other work may start meanwhile; things that were put in by
    /// ``insert(_:)-(Cancellable)`` do not count. Of a request that was cancelled `onEnd` may still be to come:
    /// ``RequestAgent/waitUntilIdle()`` waits for that as well. Returns at once, too, when the task is cancelled.
    ///
    /// A task of the bag that calls this waits for itself, until it is cancelled.
    public func waitUntilIdle() async {
        while !Task.isCancelled, let ending = storage.nextEnding() {
            let (ends, end) = AsyncStream.makeStream(of: Never.self)
            Task {
                await ending()
                end.finish()
            }
            // Ends with the stream, or with this task.
            for await _ in ends {}
        }
    }
}

extension Error {
    fileprivate var isCancellation: Bool { self is CancellationError || (self as? NetworkError)?.isCancelled == true }
}
