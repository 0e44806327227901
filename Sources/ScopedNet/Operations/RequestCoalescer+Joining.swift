extension RequestCoalescer {
    /// Joins those who want the product of a key, and begins the work for it where nobody does yet.
    ///
    /// - Parameters:
    ///   - key: products with the same key are the same. Its `==` and `hash(into:)` are called under a lock: they come back to nothing here.
    ///   - session: names agent and delivery queue. The work belongs to the session of the member that began it, and ends with its shutdown for all.
    ///   - priority: how urgent this member is; the work is as urgent as the most urgent of those who wait. For another one join again, and cancel this.
    ///   - bag: its owner's: with its end this member leaves. Nil for one that belongs to nobody.
    ///   - tag: of this member.
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
        to callback: Callback<Result<Product, any Error>>, fileID: StaticString = #fileID, line: Int = #line,
        work: @escaping @Sendable (CoalescedWork) async throws -> Product
    ) -> ScopedOperation {
        let id = Identifier.next()
        let member = ScopedOperation(in: bag, of: session, tag: tag, fileID: fileID, line: line) { [self] _ in
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

extension ScopedOperation {
    fileprivate func finish<Value>(_ result: Result<Value, any Error>, to callback: Callback<Result<Value, any Error>>) {
        switch result {
        case .success: finish(.succeeded, result, callback.take())
        case .failure(let error): finish(.failed(error), result, callback.take())
        }
    }
}
