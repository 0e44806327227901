public import ScopedNet
import Synchronization

/// Several calls at once, with one end: all of their values, or the first failure, which stops the others. Made by ``APIClient``.
///
/// ```swift
/// client.batch(of: ids.map { GetStory(id: $0) }, atMost: 4)
///     .onProgress(for: self) { model, progress in model.fraction = progress.fraction }
///     .onSuccess(for: self) { model, stories in model.stories = stories }
///     .onFailure(for: self) { model, failure in model.problem = failure.error }
///     .start(in: bag)
/// ```
///
/// From its start it is a ``ScopedOperation``: the agent keeps it, its bag ends it and all of its calls, and after a cancel nothing of it is called any more.
/// It is started once. Closures run where they were written; they are destroyed when they can no longer be called.
public final class Batch<Value: Sendable, Failure: Error>: Sendable {
    private let session: Session
    private let members: [BatchMember<Failure>]
    private let assemble: @Sendable () throws -> Value
    private let machine: Mutex<BatchMachine>
    private let closures = Mutex(Closures())

    struct Closures: Sendable {
        var progress: Callback<BatchProgress>?
        var success: Callback<Value>?
        var failure: Callback<BatchFailure<Failure>>?
        var end: Callback<ScopedOperation.Outcome>?
    }

    init(
        _ session: Session, _ members: [BatchMember<Failure>], limit: Int, collectsFailures: Bool = false,
        assemble: @escaping @Sendable () throws -> Value
    ) {
        self.session = session
        self.members = members
        self.assemble = assemble
        machine = Mutex(BatchMachine(count: members.count, limit: limit, collectsFailures: collectsFailures))
    }

    /// Told of each member that has ended. One closure; a later one takes its place, and so for the others.
    public var onProgress: Registration<BatchProgress> { Registration(batch: self) { $0.progress = $1 } }
    /// The values, in the order of the calls.
    public var onSuccess: Registration<Value> { Registration(batch: self) { $0.success = $1 } }
    /// The first failure; the other calls are cancelled. Not after a cancel.
    public var onFailure: Registration<BatchFailure<Failure>> { Registration(batch: self) { $0.failure = $1 } }
    /// The end, after everything else, also after a cancel.
    public var onEnd: Registration<ScopedOperation.Outcome> { Registration(batch: self) { $0.end = $1 } }

    /// Starts all calls, or as many as may be under way at a time. A batch without calls succeeds.
    ///
    /// - Parameters:
    ///   - bag: ends it; nil for a batch that belongs to nobody.
    ///   - tag: for ``RequestAgent/cancelAll(tag:reason:)``. Default: none.
    ///   - fileID: the file of the call, which leak tests name, with `line`.
    ///   - line: the line of the call.
    /// - Returns: the operation, to cancel it or to wait for its end; nil for a batch that was started before, which goes on.
    @discardableResult
    public func start(
        in bag: DeallocBag? = nil, tag: String? = nil, fileID: StaticString = #fileID, line: Int = #line
    ) -> ScopedOperation? {
        guard let steps = machine.withLock({ $0.start() }) else { return nil }
        let closures = closures.withLock { closures in
            defer { closures = Closures() }
            return closures
        }
        let operation = ScopedOperation(in: bag, of: session, tag: tag, onEnd: closures.end, fileID: fileID, line: line) { [self] _ in
            _ = machine.withLock { $0.cancel() }
            closures.discard()
        }
        let run = BatchRun(batch: self, operation: operation, closures: closures)
        run.take { steps }
        return operation
    }

    func register(_ change: (inout Closures) -> Void) {
        let old = closures.withLock { closures in
            defer { change(&closures) }
            return closures
        }
        // A closure that was replaced is let go outside the lock.
        _ = old
    }

    // MARK: Under way

    /// One start: what its members report, in order.
    private final class BatchRun: Sendable {
        private let batch: Batch
        private let operation: ScopedOperation
        private let closures: Closures
        private let pending = Mutex<(steps: [BatchMachine.Step], isTaken: Bool)>(([], false))
        private let errors = Mutex<[Int: Failure]>([:])

        init(batch: Batch, operation: ScopedOperation, closures: Closures) {
            self.batch = batch
            self.operation = operation
            self.closures = closures
        }

        /// Two members end at once, on two threads: whoever comes first does what both have to say, so that reports keep their order.
        /// Decided and put into line in one step, or the second would be in line before the first.
        func take(_ decide: () -> [BatchMachine.Step]) {
            let isMine = pending.withLock { pending in
                pending.steps += decide()
                defer { pending.isTaken = true }
                return !pending.isTaken
            }
            guard isMine else { return }
            while let step = next() { act(step) }
        }

        private func next() -> BatchMachine.Step? {
            pending.withLock { pending in
                if pending.steps.isEmpty {
                    pending.isTaken = false
                    return nil
                }
                return pending.steps.removeFirst()
            }
        }

        private func act(_ step: BatchMachine.Step) {
            switch step {
            case .begin(let index): begin(index)
            case .report(let count):
                if let progress = closures.progress {
                    operation.send(BatchProgress(ended: count, total: batch.members.count), to: progress)
                }
            case .succeed:
                // Each member that has ended has left its value.
                do {
                    let value = try batch.assemble()
                    if let success = closures.success { operation.finish(with: value, to: success) } else { operation.finish() }
                } catch { operation.finish(throwing: error) }
            case .fail(let index): fail(index)
            }
        }

        private func begin(_ index: Int) {
            let member = batch.members[index]
            operation.steps.task { [self] in
                let error = await member.send(operation.steps)
                if let error { errors.withLock { $0[index] = error } }
                take { batch.machine.withLock { $0.memberEnded(index, failed: error != nil) } }
            }
        }

        private func fail(_ index: Int) {
            guard let error = errors.withLock({ $0[index] }) else { return operation.finish() }
            let failure = BatchFailure(index: index, endpoint: batch.members[index].endpoint, error: error)
            if let callback = closures.failure {
                operation.finish(throwing: failure, to: callback)
            } else {
                operation.finish(throwing: failure)
            }
        }
    }
}

extension Batch.Closures {
    func discard() {
        progress?.discard()
        success?.discard()
        failure?.discard()
    }
}

/// The progress of a ``Batch``.
public struct BatchProgress: Sendable, Hashable {
    /// The calls that have ended.
    public let ended: Int
    /// All calls.
    public let total: Int
    /// From 0 to 1; 1 for a batch without calls.
    public var fraction: Double { total == 0 ? 1 : Double(ended) / Double(total) }
}

/// The failure of a ``Batch``: that of one of its calls.
public struct BatchFailure<Failure: Error>: Error {
    /// The place of the call, from 0.
    public let index: Int
    /// The type of its endpoint, such as `GetStory`.
    public let endpoint: String
    /// Its error.
    public let error: Failure
}

/// One call of a batch. It leaves its value where the batch finds it, and returns its error.
struct BatchMember<Failure: Error>: Sendable {
    let endpoint: String
    let send: @Sendable (DeallocBag) async -> Failure?
}
