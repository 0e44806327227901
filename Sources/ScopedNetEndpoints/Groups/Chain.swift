public import ScopedNet

/// Calls one after the other, each made of the values before it, with one end. Made by ``APIClient/chain()``.
///
/// ```swift
/// client.chain()
///     .then(SignIn(name: name, password: password))
///     .then { context in context[SignIn.self].map { GetProfile(id: $0.userID) } }
///     .then(ListNews()) { step in if step.value.isEmpty { step.context.append(ListArchive()) } }
///     .onSuccess(for: self) { model, context in model.profile = context[GetProfile.self] }
///     .onFailure(for: self) { model, failure in model.problem = "\(failure.name): \(failure.error)" }
///     .start(in: bag)
/// ```
///
/// Code that awaits needs none of it: `try await client.send(…)`, line by line. This is the form with closures or a delegate, to which steps are added
/// while it runs.
///
/// A closure that makes an endpoint (`then { context in … }`) is part of the work, on any thread: a cancel does not wait for one that has begun.
///
/// From its start it is a `ScopedOperation`: the agent keeps it, its bag ends it, and a cancel stops the present step and drops the rest, after which nothing
/// of it is called any more. It is started once. Closures run where they were written, one of each kind: a later one takes its place. They are destroyed when
/// they can no longer be called.
public final class Chain<Service: APIService>: Sendable {
    typealias Callbacks = GroupCallbacks<ChainContext<Service>, Service.Failure>

    private let client: APIClient<Service>
    private let callbacks: Lock<Callbacks>
    /// The steps and their values.
    public let context = ChainContext<Service>()

    init(_ client: APIClient<Service>, accessories: [Accessory]) {
        self.client = client
        callbacks = Lock(Callbacks(spans: AccessorySpans(accessories)))
    }

    /// Appends a step. Behind the end of the chain nothing is appended, which ``ChainContext/append(_:name:)`` tells.
    @discardableResult
    public func then<E: Endpoint>(_ endpoint: E, name: String? = nil) -> Chain {
        context.append(endpoint, name: name)
        return self
    }

    /// Appends a step whose endpoint is made when its turn comes, on any thread; nil skips it.
    @discardableResult
    public func then<E: Endpoint>(name: String? = nil, _ make: @escaping @Sendable (ChainContext<Service>) -> E?) -> Chain {
        context.append(name: name, make)
        return self
    }

    /// Appends a step with a closure for its value, which runs where it is written, before the next step begins: it may append steps.
    @discardableResult
    public func then<E: Endpoint>(
        _ endpoint: E, name: String? = nil, fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (ChainStep<Service, E.Value>) -> Void
    ) -> Chain {
        add(endpoint, name, Callback(fileID: fileID, line: line, body))
    }

    /// Appends a step with a closure that gets its owner, which is held weakly; it is skipped once the owner has gone, and the chain goes on.
    @discardableResult
    public func then<E: Endpoint, Owner: AnyObject & Sendable>(
        _ endpoint: E, name: String? = nil, for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Owner, ChainStep<Service, E.Value>) -> Void
    ) -> Chain {
        add(endpoint, name, Callback(for: owner, fileID: fileID, line: line, body))
    }

    private func add<E: Endpoint>(_ endpoint: E, _ name: String?, _ closure: Callback<ChainStep<Service, E.Value>>) -> Chain {
        _ = context.add(.of(name: name, closure: closure) { _ in endpoint })
        return self
    }

    /// Told of each step that has ended; more steps may follow than are known yet.
    public var onProgress: CallbackRegistration<Chain, GroupProgress> { registration { $0.progress = $1 } }
    /// All steps have ended; the context has their values.
    public var onSuccess: CallbackRegistration<Chain, ChainContext<Service>> { registration { $0.success = $1 } }
    /// A step has failed, and those behind it are dropped. Not after a cancel.
    public var onFailure: CallbackRegistration<Chain, GroupFailure<Service.Failure>> { registration { $0.failure = $1 } }
    /// The end, after everything else, also after a cancel.
    public var onEnd: CallbackRegistration<Chain, ScopedOperation.Outcome> { registration { $0.end = $1 } }

    /// Sets the delegate, called on the actor this is called from. Held weakly.
    @discardableResult
    public func delegate<Delegate: CallGroupDelegate>(_ delegate: Delegate, isolation: isolated any Actor = #isolation) -> Chain {
        let callback = Callback<Callbacks.Event>(for: delegate, isolation: isolation) { delegate, event in event.tell(delegate) }
        change { $0.delegate = callback }
        return self
    }

    /// Sets a delegate from code that runs on no actor: it is called on the session's delivery queue. Held weakly.
    @discardableResult
    public func delegate<Delegate: CallGroupDelegate & Sendable>(sendable delegate: Delegate) -> Chain {
        let callback = Callback<Callbacks.Event>(for: delegate) { delegate, event in event.tell(delegate) }
        change { $0.delegate = callback }
        return self
    }

    /// Adds an accessory. It hears of the chain as a whole, and not of its steps.
    @discardableResult
    public func accessory(_ accessory: Accessory) -> Chain {
        change { $0.spans.add(accessory) }
        return self
    }

    /// Starts the first step. A chain without steps succeeds.
    ///
    /// - Parameters:
    ///   - bag: ends it; nil for a chain that belongs to nobody.
    ///   - tag: for `RequestAgent.cancelAll(tag:reason:)`. Default: none.
    ///   - fileID: the file of the call, which leak tests name, with `line`.
    ///   - line: the line of the call.
    /// - Returns: the operation, to cancel it or to wait for its end; nil for a chain that was started before, which goes on.
    @discardableResult
    public func start(
        in bag: DeallocBag? = nil, tag: String? = nil, fileID: StaticString = #fileID, line: Int = #line
    ) -> ScopedOperation? {
        guard let steps = context.decide({ $0.start() }) else { return nil }
        let callbacks = callbacks.withLock { callbacks in
            defer { callbacks = Callbacks(isStarted: true) }
            return callbacks
        }
        callbacks.spans.begin(in: bag, of: client.session, fileID: fileID, line: line)
        let operation = ScopedOperation(in: bag, of: client.session, tag: tag, onEnd: callbacks.end, fileID: fileID, line: line) {
            [context, end = callbacks.spans.end] _ in
            context.decide { $0.cancel() }
            context.dropSteps()
            callbacks.discard()
            end?.reach()
        }
        ChainRun(context: context, client: client, operation: operation, callbacks: callbacks).take { steps }
        return operation
    }

    private func registration<Payload: Sendable>(
        _ set: @escaping @Sendable (inout Callbacks, Callback<Payload>) -> Void
    ) -> CallbackRegistration<Chain, Payload> {
        CallbackRegistration(self) { [self] callback in change { set(&$0, callback) } }
    }

    private func change(_ change: (inout Callbacks) -> Void) {
        let old = callbacks.withLock { callbacks in
            defer { if !callbacks.isStarted { change(&callbacks) } }
            return callbacks
        }
        // A closure that was replaced is let go outside the lock.
        _ = old
    }

    // MARK: Under way

    /// The work of a chain that was started.
    private final class ChainRun: Sendable {
        private struct Left: Sendable {
            var failure: Service.Failure?
            var handOver: (@Sendable (ScopedOperation) -> Void)?
        }

        private let context: ChainContext<Service>
        private let client: APIClient<Service>
        private let operation: ScopedOperation
        private let callbacks: Callbacks
        private let line = StepLine<ChainMachine.Step>()
        /// Left by a step for what is done next.
        private let left = Lock(Left())

        init(context: ChainContext<Service>, client: APIClient<Service>, operation: ScopedOperation, callbacks: Callbacks) {
            var callbacks = callbacks
            callbacks.spans = callbacks.spans.withoutEnd
            (self.context, self.client, self.operation, self.callbacks) = (context, client, operation, callbacks)
        }

        func take(_ decide: () -> [ChainMachine.Step]) { line.take(decide) { act($0) } }

        private func act(_ step: ChainMachine.Step) {
            switch step {
            case .begin(let index): begin(index)
            case .handOver(let index): handOver(index)
            case .report(let ended, let total): callbacks.report(GroupProgress(ended: ended, total: total), to: operation)
            case .succeed:
                context.dropSteps()
                callbacks.succeed(with: context, operation)
            case .fail(let index):
                guard let failure = left.withLock({ left -> Service.Failure? in left.failure }) else { return }
                let name = context.step(index)?.name ?? ""
                context.dropSteps()
                callbacks.fail(with: GroupFailure(index: index, name: name, error: failure), operation)
            }
        }

        private func begin(_ index: Int) {
            guard let step = context.step(index) else { return }
            operation.steps.task { [self] in
                // A task that was cancelled before it began runs all the same.
                guard operation.isRunning else { return }
                let ending = await step.run(context, client, operation.steps)
                // One that was cancelled by itself, such as by an interceptor, takes the whole with it: there is nothing to tell.
                if case .cancelled = ending {
                    operation.cancel()
                    return
                }
                take { context.decide { $0.stepEnded(index, note(ending)) } }
            }
        }

        private func note(_ ending: ChainContext<Service>.Ending) -> ChainMachine.Ending {
            switch ending {
            case .skipped, .cancelled: return .skipped
            case .failure(let error):
                left.withLock { $0.failure = error }
                return .failed
            case .value(nil): return .succeeded
            case .value(let handOver):
                left.withLock { $0.handOver = handOver }
                return .succeededWithClosure
            }
        }

        /// All calls of an operation are made one after the other: when the second is made, the closure has returned.
        private func handOver(_ index: Int) {
            let handOver = left.withLock { left in
                defer { left.handOver = nil }
                return left.handOver
            }
            handOver?(operation)
            operation.send((), to: Callback { [self] in take { context.decide { $0.handedOver(index) } } })
        }
    }
}
