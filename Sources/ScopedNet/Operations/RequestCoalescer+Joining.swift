import SystemSupport

extension RequestCoalescer {
    /// Joins those who want the product of a key, and begins the work for it where nobody does yet.
    ///
    /// - Parameters:
    ///   - key: products with the same key are the same. Its `==` and `hash(into:)` are called under a lock: they come back to nothing here.
    ///   - session: names agent and delivery queue. The work belongs to the session of the member that began it, and ends with its shutdown for all.
    ///   - priority: how urgent this member is; the work is as urgent as the most urgent of those who wait. ``setPriority(_:of:for:)`` changes it.
    ///   - bag: its owner's: with its end this member leaves. Nil for one that belongs to nobody.
    ///   - tag: of this member.
    ///   - onEnd: told how this member ended, after everything else, also after a cancel. Default: nothing.
    ///   - callback: called once with the product or the error; not after this member was cancelled.
    ///   - fileID: the file of the call, which leak tests name, with `line`.
    ///   - line: the line of the call.
    ///   - work: makes the product; it may take any number of steps. Called in a task, for one group of members at a time; requests that it awaits end with
    ///     the work. The task is cancelled when the last member has left, and the next to join begins anew, while that one may be on its way out still. It belongs to no member: what it throws
    ///     is the error of all.
    /// - Returns: this member. Its cancel leaves, and stops the work where it was the last.
    @discardableResult
    public func join(
        _ key: Key, of session: Session, priority: Priority = .normal, in bag: DeallocBag? = nil, tag: String? = nil,
        onEnd: Callback<ScopedOperation.Outcome>? = nil, to callback: Callback<Result<Product, any Error>>, fileID: StaticString = #fileID,
        line: Int = #line,
        work: @escaping @Sendable (CoalescedWork) async throws -> Product
    ) -> ScopedOperation {
        let id = Identifier.next()
        let origin = CodeOrigin(fileID, line)
        let member = ScopedOperation(id: id, in: bag?.storage, of: session, origin, tag: tag, onEnd: onEnd) { [self] _ in
            callback.discard()
            leave(key, id, endsWithLast: true)
        }
        guard member.isRunning else { return member }
        let lead = CoalescedWork()
        let begins = join(key, id, priority, orUnder: lead) { member.finish($0 ?? .failure(CancellationError()), to: callback) }
        if begins { begin(lead, of: session, fileID, line, work) }
        // Cancelled while it was being put in, it found no place to leave.
        if !member.isRunning { leave(key, id, endsWithLast: true) }
        return member
    }

    /// Makes a member more urgent, or less. Any thread; for one that waits no longer nothing changes.
    ///
    /// - Parameters:
    ///   - priority: how urgent it is from here on.
    ///   - member: what ``join(_:of:priority:in:tag:onEnd:to:fileID:line:work:)`` has returned.
    ///   - key: the key that it joined with.
    public func setPriority(_ priority: Priority, of member: ScopedOperation, for key: Key) { setPriority(key, member.id, priority) }

    /// Joins those who want the product of a key for the sake of other work, and awaits it: a picture of some size, which waits for its bytes.
    ///
    /// - Parameters:
    ///   - key: as in ``join(_:of:priority:in:tag:onEnd:to:fileID:line:work:)``.
    ///   - session: as there.
    ///   - asker: the work that waits; this member is as urgent as it is, now and whenever that changes.
    ///   - fileID: the file of the call, which leak tests name, with `line`.
    ///   - line: the line of the call.
    ///   - work: makes the product, as there.
    /// - Returns: the product.
    /// - Throws: what `work` throws, and `CancellationError` where this task or the member was cancelled.
    public func value(
        _ key: Key, of session: Session, for asker: CoalescedWork, fileID: StaticString = #fileID, line: Int = #line,
        work: @escaping @Sendable (CoalescedWork) async throws -> Product
    ) async throws -> Product {
        let (product, waiting) = (JoinedProduct<Product>(), JoinedMember())
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let member = join(
                    key, of: session, priority: asker.priority, onEnd: Callback { _ in continuation.resume() },
                    to: Callback { product.set($0) }, fileID: fileID, line: line, work: work)
                asker.carry { [weak self] in self?.setPriority($0, of: member, for: key) }
                waiting.set(member)
            }
        } onCancel: {
            waiting.cancel()
        }
        guard let result = product.get() else { throw CancellationError() }
        return try result.get()
    }

    private func begin(
        _ lead: CoalescedWork, of session: Session, _ fileID: StaticString, _ line: Int,
        _ work: @escaping @Sendable (CoalescedWork) async throws -> Product
    ) {
        let operation = ScopedOperation(of: session, fileID: fileID, line: line) { [self] reason in
            end(ledBy: lead.id, with: .failure(NetworkError.cancelled(reason, runID: 0, phase: .preparing)))
        }
        guard operation.isRunning else { return }
        operation.steps.task { [self] in
            let result: Result<Product, any Error>
            do { result = .success(try await work(lead)) } catch { result = .failure(error) }
            end(ledBy: lead.id, with: result)
            operation.finish()
        }
        lead.begin(operation)
    }
}

/// The product that came, if it did.
private final class JoinedProduct<Product: Sendable>: Sendable {
    private let result = Lock<Result<Product, any Error>?>(nil)

    func set(_ product: Result<Product, any Error>) { result.withLock { $0 = product } }
    func get() -> Result<Product, any Error>? { result.withLock { $0 } }
}

/// A member whose task may be cancelled before there is one.
private final class JoinedMember: Sendable {
    private let state = Lock<(member: ScopedOperation?, isCancelled: Bool)>((nil, false))

    func set(_ member: ScopedOperation) {
        let isCancelled = state.withLock { state in
            state.member = member
            return state.isCancelled
        }
        if isCancelled { member.cancel() }
    }

    func cancel() {
        let member = state.withLock { state in
            state.isCancelled = true
            return state.member
        }
        member?.cancel()
    }
}

extension ScopedOperation {
    fileprivate func finish<Value>(_ result: Result<Value, any Error>, to callback: Callback<Result<Value, any Error>>) {
        switch result {
        case .success: finish(.succeeded, result, callback.take())
        case .failure(let error): finish(.failed(error), result, callback.take())
        }
    }
}
