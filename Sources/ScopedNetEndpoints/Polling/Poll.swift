public import ScopedNet
import Synchronization

/// A call that is repeated until its answer is the one that is waited for. Made by ``APIClient/poll(_:_:until:)``.
///
/// ```swift
/// client.poll(GetJob(id: id), PollSchedule(every: .seconds(2), factor: 1.5), until: { $0.isDone })
///     .onValue(for: self) { model, job in model.fraction = job.fraction }
///     .onSuccess(for: self) { model, job in model.open(job.result) }
///     .onFailure(for: self) { model, error in model.problem = error }
///     .start(in: bag)
/// ```
///
/// One question is under way at a time: the next wait begins with the answer. From its start it is a `ScopedOperation`: the agent keeps it, its bag ends it,
/// and after a cancel nothing of it is called any more. It is started once. Closures run where they were written, one of each kind: a later one takes its
/// place.
public final class Poll<Service: APIService, E: Endpoint>: Sendable {
    struct Callbacks: Sendable {
        var value: Callback<E.Value>?
        var success: Callback<E.Value>?
        var failure: Callback<Service.Failure>?
        var end: Callback<ScopedOperation.Outcome>?
        /// A closure that is registered from now on would never be called.
        var isStarted = false
    }

    private let client: APIClient<Service>
    private let endpoint: E
    private let schedule: PollSchedule
    private let isLast: @Sendable (E.Value) -> Bool
    private let callbacks = Lock(Callbacks())
    private let isStarted = Atomic<Bool>(false)

    init(_ client: APIClient<Service>, _ endpoint: E, _ schedule: PollSchedule, isLast: @escaping @Sendable (E.Value) -> Bool) {
        self.client = client
        self.endpoint = endpoint
        self.schedule = schedule
        self.isLast = isLast
    }

    /// Each answer, the last one too.
    public var onValue: CallbackRegistration<Poll, E.Value> { registration { $0.value = $1 } }
    /// The answer that was waited for.
    public var onSuccess: CallbackRegistration<Poll, E.Value> { registration { $0.success = $1 } }
    /// The last of too many failures in a row. Not after a cancel.
    public var onFailure: CallbackRegistration<Poll, Service.Failure> { registration { $0.failure = $1 } }
    /// The end, after everything else, also after a cancel.
    public var onEnd: CallbackRegistration<Poll, ScopedOperation.Outcome> { registration { $0.end = $1 } }

    /// Asks for the first time.
    ///
    /// - Parameters:
    ///   - bag: ends it; nil for a poll that belongs to nobody.
    ///   - tag: for `RequestAgent.cancelAll(tag:reason:)`. Default: none.
    ///   - fileID: the file of the call, which leak tests name, with `line`.
    ///   - line: the line of the call.
    /// - Returns: the operation, to cancel it or to wait for its end; nil for a poll that was started before, which goes on.
    @discardableResult
    public func start(
        in bag: DeallocBag? = nil, tag: String? = nil, fileID: StaticString = #fileID, line: Int = #line
    ) -> ScopedOperation? {
        guard !isStarted.exchange(true, ordering: .relaxed) else { return nil }
        let callbacks = callbacks.withLock { callbacks in
            defer { callbacks = Callbacks(isStarted: true) }
            return callbacks
        }
        let operation = ScopedOperation(
            in: bag, of: client.session, tag: tag, onEnd: callbacks.end, fileID: fileID, line: line
        ) { _ in
            callbacks.value?.discard()
            callbacks.success?.discard()
            callbacks.failure?.discard()
        }
        operation.steps.task { [self] in await run(operation, callbacks) }
        return operation
    }

    private func run(_ operation: ScopedOperation, _ callbacks: Callbacks) async {
        var machine = PollMachine(schedule)
        while operation.isRunning {
            let step: PollMachine.Step
            let answer: Result<E.Value, Service.Failure>
            do throws(CallFailure<Service.Failure>) {
                let value = try await client.reply(to: endpoint, in: operation.steps).value
                answer = .success(value)
                // After a cancel nothing is asked.
                guard operation.isRunning else { return }
                if let callback = callbacks.value { operation.send(value, to: callback) }
                step = machine.answered(isLast: isLast(value))
            } catch {
                // One that was cancelled by itself, such as by an interceptor, ends the whole: there is nothing to tell.
                if error.isCancelled {
                    operation.cancel()
                    return
                }
                answer = .failure(error.error)
                step = machine.failed()
            }
            switch (step, answer) {
            case (.wait(let time), _):
                switch await operation.sleep(for: time, orUntilNetworkChanges: schedule.asksOnNetworkChange) {
                case .time: break
                case .network: machine.networkChanged()
                case .cancelled: return
                }
            case (_, .success(let value)):
                if let callback = callbacks.success { operation.finish(with: value, to: callback) } else { operation.finish() }
                return
            case (_, .failure(let error)):
                if let callback = callbacks.failure {
                    operation.finish(throwing: error, to: callback)
                } else {
                    operation.finish(throwing: error)
                }
                return
            }
        }
    }

    private func registration<Payload: Sendable>(
        _ set: @escaping @Sendable (inout Callbacks, Callback<Payload>) -> Void
    ) -> CallbackRegistration<Poll, Payload> {
        CallbackRegistration(self) { [self] callback in
            let old = callbacks.withLock { callbacks in
                defer { if !callbacks.isStarted { set(&callbacks, callback) } }
                return callbacks
            }
            // A closure that was replaced is let go outside the lock.
            _ = old
        }
    }
}

extension APIClient {
    /// Makes a call that is repeated.
    ///
    /// Code that awaits needs none of it: a loop with ``send(_:in:accessories:fileID:line:)`` does.
    ///
    /// - Parameters:
    ///   - endpoint: the call.
    ///   - schedule: the times. Default: every 5 seconds, until three failures in a row.
    ///   - isLast: true for the answer that ends it. Default: none does.
    /// - Returns: the poll, not started.
    public func poll<E: Endpoint>(
        _ endpoint: E, _ schedule: PollSchedule = PollSchedule(), until isLast: @escaping @Sendable (E.Value) -> Bool = { _ in false }
    ) -> Poll<Service, E> {
        Poll(self, endpoint, schedule, isLast: isLast)
    }
}
