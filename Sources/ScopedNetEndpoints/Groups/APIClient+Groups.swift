public import ScopedNet

extension APIClient {
    /// Makes a batch of calls of one type: the values come in the order of the endpoints.
    ///
    /// - Parameters:
    ///   - endpoints: the calls.
    ///   - limit: the most under way at a time, at least 1. Default: all; the session's limits on connections hold anyway.
    /// - Returns: the batch, not started.
    public func batch<E: Endpoint>(of endpoints: [E], atMost limit: Int = .max) -> Batch<[E.Value], Service.Failure> {
        let slots = endpoints.map { _ in Slot<E.Value>() }
        let members = zip(endpoints, slots).map { batchMember($0, $1) }
        return Batch(session, members, limit: limit, accessories: service.allAccessories) { try slots.map { try $0.take() } }
    }

    /// Makes a batch of calls of different types: the values come as a tuple.
    ///
    /// ```swift
    /// client.batch(of: Me(), ListStories()).onSuccess(for: self) { model, page in (model.me, model.stories) = page }.start(in: bag)
    /// ```
    public func batch<each E: Endpoint>(of endpoint: repeat each E, atMost limit: Int = .max) -> Batch<
        (repeat (each E).Value), Service.Failure
    > {
        let slots = (repeat Self.slot(of: each endpoint))
        var members: [BatchMember<Service.Failure>] = []
        for (endpoint, slot) in repeat (each endpoint, each slots) { members.append(batchMember(endpoint, slot)) }
        return Batch(session, members, limit: limit, accessories: service.allAccessories) { (repeat try (each slots).take()) }
    }

    /// Makes a batch whose calls do not stop each other: each has a value or an error in the end.
    ///
    /// - Parameters:
    ///   - endpoints: the calls.
    ///   - limit: the most under way at a time, at least 1. Default: all.
    /// - Returns: the batch, not started.
    public func batchOfResults<E: Endpoint>(
        of endpoints: [E], atMost limit: Int = .max
    ) -> Batch<[Result<E.Value, Service.Failure>], Service.Failure> {
        let slots = endpoints.map { _ in Slot<Result<E.Value, Service.Failure>>() }
        let members = zip(endpoints, slots).map { resultMember($0, $1) }
        return Batch(session, members, limit: limit, collectsFailures: true, accessories: service.allAccessories) {
            try slots.map { try $0.take() }
        }
    }

    /// Makes a batch of calls of different types that do not stop each other: the results come as a tuple.
    ///
    /// ```swift
    /// client.batchOfResults(of: Me(), ListStories()).onSuccess(for: self) { model, page in
    ///     (model.me, model.stories) = (try? page.0.get(), (try? page.1.get()) ?? [])
    /// }.start(in: bag)
    /// ```
    public func batchOfResults<each E: Endpoint>(of endpoint: repeat each E, atMost limit: Int = .max) -> Batch<
        (repeat Result<(each E).Value, Service.Failure>), Service.Failure
    > {
        let slots = (repeat Self.resultSlot(of: each endpoint))
        var members: [BatchMember<Service.Failure>] = []
        for (endpoint, slot) in repeat (each endpoint, each slots) { members.append(resultMember(endpoint, slot)) }
        return Batch(session, members, limit: limit, collectsFailures: true, accessories: service.allAccessories) {
            (repeat try (each slots).take())
        }
    }

    /// Makes a chain, to which steps are added before its start and while it runs.
    public func chain() -> Chain<Service> { Chain(self, accessories: service.allAccessories) }

    func sendMember<E: Endpoint>(_ endpoint: E, in bag: DeallocBag) async throws(CallFailure<Service.Failure>) -> E.Value {
        try await member(endpoint, in: bag, fileID: #fileID, line: #line).value
    }

    private static func slot<E: Endpoint>(of endpoint: E) -> Slot<E.Value> { Slot() }
    private static func resultSlot<E: Endpoint>(of endpoint: E) -> Slot<Result<E.Value, Service.Failure>> { Slot() }

    private func batchMember<E: Endpoint>(_ endpoint: E, _ slot: Slot<E.Value>) -> BatchMember<Service.Failure> {
        BatchMember(endpoint: "\(E.self)") { [self] bag in
            do throws(CallFailure<Service.Failure>) {
                slot.put(try await sendMember(endpoint, in: bag))
                return nil
            } catch { return error }
        }
    }

    private func resultMember<E: Endpoint>(
        _ endpoint: E, _ slot: Slot<Result<E.Value, Service.Failure>>
    ) -> BatchMember<Service.Failure> {
        BatchMember(endpoint: "\(E.self)") { [self] bag in
            do throws(CallFailure<Service.Failure>) {
                slot.put(.success(try await sendMember(endpoint, in: bag)))
                return nil
            } catch {
                slot.put(.failure(error.error))
                // Each result is told, that of a call that was cancelled, too.
                return CallFailure(error: error.error, isCancelled: false)
            }
        }
    }
}

/// The value of one call of a batch.
private final class Slot<Value: Sendable>: Sendable {
    private struct Empty: Error {}
    private let value = Lock<Value?>(nil)

    func put(_ value: Value) { self.value.withLock { $0 = value } }

    func take() throws -> Value {
        guard let value = value.withLock({ $0 }) else { throw Empty() }
        return value
    }
}
