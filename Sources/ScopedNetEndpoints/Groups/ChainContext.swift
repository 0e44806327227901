import ScopedNet

/// A ``Chain`` as its steps and closures see it: the values so far, and what is still to come. Any thread may use it.
public final class ChainContext<Service: APIService>: Sendable {
    /// The end of one step's work.
    enum Ending: Sendable {
        case skipped
        /// With the call of the step's closure, where it has one.
        case value((@Sendable (ScopedOperation) -> Void)?)
        case failure(Service.Failure)
        /// By somebody else than the chain.
        case cancelled
    }

    struct Step: Sendable {
        let name: String
        let run: @Sendable (ChainContext, APIClient<Service>, DeallocBag) async -> Ending
    }

    struct State: Sendable {
        var machine = ChainMachine()
        var steps: [Step] = []
        var values: [ObjectIdentifier: any Sendable] = [:]
        var names: [String] = []
    }

    private let state = Lock(State())

    /// The value of the last step of this type; nil where there is none yet.
    public subscript<E: Endpoint>(_: E.Type) -> E.Value? {
        state.withLock { $0.values[ObjectIdentifier(E.self)] } as? E.Value
    }

    /// The names of the steps that have a value, in their order.
    public var completedSteps: [String] { state.withLock { $0.names } }

    /// Appends a step behind all others.
    ///
    /// - Parameters:
    ///   - endpoint: the call.
    ///   - name: its name in failures. Default: the type of the endpoint.
    /// - Returns: false where the chain is over, and nothing was appended.
    @discardableResult
    public func append<E: Endpoint>(_ endpoint: E, name: String? = nil) -> Bool { add(.of(name: name) { _ in endpoint }) }

    /// Appends a step whose endpoint is made of earlier values when its turn comes; nil skips it.
    @discardableResult
    public func append<E: Endpoint>(name: String? = nil, _ make: @escaping @Sendable (ChainContext) -> E?) -> Bool {
        add(.of(name: name, make))
    }

    func add(_ step: Step) -> Bool {
        state.withLock { state in
            guard state.machine.append() != nil else { return false }
            state.steps.append(step)
            return true
        }
    }

    func step(_ index: Int) -> Step? { state.withLock { $0.steps.indices.contains(index) ? $0.steps[index] : nil } }

    func decide<Answer: Sendable>(_ transition: (inout ChainMachine) -> Answer) -> Answer { state.withLock { transition(&$0.machine) } }

    func note<E: Endpoint>(_ value: E.Value, of _: E.Type, name: String) {
        // The old value is let go outside the lock.
        let old = state.withLock { state -> (any Sendable)? in
            state.names.append(name)
            return state.values.updateValue(value, forKey: ObjectIdentifier(E.self))
        }
        _ = old
    }

    /// Lets go of the steps, with their closures; the values stay.
    func dropSteps() {
        let old = state.withLock { state in
            defer { state.steps = [] }
            return state.steps
        }
        _ = old
    }
}

extension ChainContext.Step {
    static func of<E: Endpoint>(
        name: String?, closure: Callback<ChainStep<Service, E.Value>>? = nil, _ make: @escaping @Sendable (ChainContext<Service>) -> E?
    ) -> ChainContext<Service>.Step {
        let name = name ?? "\(E.self)"
        return ChainContext<Service>.Step(name: name) { context, client, bag in
            guard let endpoint = make(context) else { return .skipped }
            return await run(endpoint, name, closure, context, client, bag)
        }
    }

    private static func run<E: Endpoint>(
        _ endpoint: E, _ name: String, _ closure: Callback<ChainStep<Service, E.Value>>?, _ context: ChainContext<Service>,
        _ client: APIClient<Service>, _ bag: DeallocBag
    ) async -> ChainContext<Service>.Ending {
        do throws(CallFailure<Service.Failure>) {
            let value = try await client.sendMember(endpoint, in: bag)
            context.note(value, of: E.self, name: name)
            guard let closure else { return .value(nil) }
            return .value { $0.send(ChainStep(context: context, name: name, value: value), to: closure) }
        } catch { return error.isCancelled ? .cancelled : .failure(error.error) }
    }
}

/// A step of a ``Chain`` that has its value.
public struct ChainStep<Service: APIService, Value: Sendable>: Sendable {
    /// The chain, to append steps and to read earlier values.
    public let context: ChainContext<Service>
    /// The name of the step.
    public let name: String
    /// Its value.
    public let value: Value
}
