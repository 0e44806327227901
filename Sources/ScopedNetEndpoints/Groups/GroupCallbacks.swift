import ScopedNet

/// The delegate, the closures and the accessories of a group, and the calls of them.
struct GroupCallbacks<Value: Sendable, Failure: Error>: Sendable {
    /// One call of the delegate.
    enum Event: Sendable {
        case progress(ScopedOperation, GroupProgress)
        case success(ScopedOperation, Value)
        case failure(ScopedOperation, GroupFailure<Failure>)

        func tell(_ delegate: any CallGroupDelegate) {
            switch self {
            case .progress(let group, let progress): delegate.group(group, didProgress: progress)
            case .success(let group, let value): delegate.group(group, didSucceedWith: value)
            case .failure(let group, let failure): delegate.group(group, didFailWith: failure.error, at: failure.name)
            }
        }
    }

    var delegate: Callback<Event>?
    var progress: Callback<GroupProgress>?
    var success: Callback<Value>?
    var failure: Callback<GroupFailure<Failure>>?
    var end: Callback<ScopedOperation.Outcome>?
    var spans = AccessorySpans()
    /// A closure that is registered from now on would never be called.
    var isStarted = false

    func report(_ report: GroupProgress, to group: ScopedOperation) {
        if let delegate { group.send(.progress(group, report), to: delegate) }
        if let progress { group.send(report, to: progress) }
    }

    func succeed(with value: Value, _ group: ScopedOperation) {
        defer { discard() }
        spans.stop()
        if let delegate, success != nil { group.send(.success(group, value), to: delegate) }
        if let success { return group.finish(with: value, to: success) }
        if let delegate { group.finish(with: .success(group, value), to: delegate) } else { group.finish() }
    }

    func fail(with error: GroupFailure<Failure>, _ group: ScopedOperation) {
        defer { discard() }
        spans.stop()
        if let delegate { group.send(.failure(group, error), to: delegate) }
        if let failure { group.finish(throwing: error, to: failure) } else { group.finish(throwing: error) }
    }

    /// Destroys the closures; calls that are on their way have theirs.
    func discard() {
        delegate?.discard()
        progress?.discard()
        success?.discard()
        failure?.discard()
    }
}
